"""An idempotent executor in Python, as a system under test: JSON Lines on stdin and stdout (docs/sut-protocol.md).

Only the standard library. The journal is SQLite; a claim is one transaction, and nothing is held open during a call.
Another design than onceproof's reference: the parameters are kept, so that the reconciler can send again by itself.
"""

import hashlib
import http.client
import json
import sqlite3
import sys
import time
import urllib.parse
import uuid

FINAL = ("succeeded", "failed_final", "review")


class Executor:
    def __init__(self, init):
        service = init["services"]["payments"]
        self.url = urllib.parse.urlsplit(service["url"])
        self.promised = service["guarantees"]
        self.times = {name[:-3]: value / 1000 for name, value in init["times"].items()}
        self.db = sqlite3.connect(init["state_dir"] + "/journal.db", timeout=5, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute(
            """CREATE TABLE IF NOT EXISTS operations(
                 tenant TEXT, action TEXT, intent TEXT, key TEXT UNIQUE, hash TEXT, params TEXT,
                 status TEXT, external_id TEXT, error_code TEXT, first_at REAL, last_at REAL, lease_until REAL,
                 unknown_since REAL, next_check REAL, PRIMARY KEY(tenant, action, intent))"""
        )

    # The journal ---------------------------------------------------------------------------------

    def find(self, message):
        return self.db.execute(
            "SELECT * FROM operations WHERE tenant=? AND action=? AND intent=?",
            (message["tenant"], message["action"], message["intent"]),
        ).fetchone()

    def load(self, key):
        return self.db.execute("SELECT * FROM operations WHERE key=?", (key,)).fetchone()

    def register(self, message, digest):
        key = message.get("operation_key") or "op_" + uuid.uuid4().hex
        self.db.execute(
            "INSERT OR IGNORE INTO operations(tenant, action, intent, key, hash, params, status) VALUES(?,?,?,?,?,?,'pending')",
            (message["tenant"], message["action"], message["intent"], key, digest, json.dumps(message["params"])),
        )
        return self.find(message)

    def claim(self, row):
        """One update that changes exactly one row; whoever loses gets False."""
        now = time.time()
        return (
            self.db.execute(
                """UPDATE operations SET status='in_progress', lease_until=?, last_at=?, first_at=COALESCE(first_at, ?)
                   WHERE key=? AND last_at IS ? AND status NOT IN ('succeeded','failed_final','review')
                     AND (status != 'in_progress' OR lease_until < ?)""",
                (now + self.times["lease"], now, now, row["key"], row["last_at"], now),
            ).rowcount
            == 1
        )

    def record(self, key, status, external_id=None, error_code=None):
        now = time.time()
        self.db.execute(
            """UPDATE operations SET status=?, external_id=COALESCE(?, external_id), error_code=?, next_check=?,
                 unknown_since=CASE WHEN ?='unknown' THEN COALESCE(unknown_since, ?) ELSE NULL END WHERE key=? AND status != 'succeeded'""",
            (status, external_id, error_code, now + self.times["check_initial"], status, now, key),
        )

    # The provider --------------------------------------------------------------------------------

    def request(self, method, path, body=None, headers=None):
        """(status, JSON), or None: no one knows. The time-out is for each read; the fakes do not drip."""
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=self.times["call_timeout"])
        try:
            connection.request(method, self.url.path + path, body=body, headers=headers or {})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            connection.close()

    def call(self, row, first):
        dedup = self.promised["key_dedup"]
        headers = {dedup["header"]: row["key"]} if dedup else {}
        body = dict(json.loads(row["params"]), **{self.promised["reference_field"]: row["key"]})
        reply = self.request("POST", "/payments", json.dumps(body), headers)
        status, answer = reply if reply else (0, {})
        if status in (200, 201) and isinstance(answer, dict) and answer.get("id"):
            self.record(row["key"], "succeeded", external_id=answer["id"])
        elif first and self.proves_no_effect(status, answer):
            self.record(row["key"], "failed_final", error_code=str(status))
        else:
            self.record(row["key"], "unknown", error_code=str(status))

    def proves_no_effect(self, status, answer):
        code = answer.get("error", {}).get("code") if isinstance(answer, dict) else None
        return any(row["status"] == status and row.get("error", code) == code for row in self.promised["no_effect"])

    def look_up(self, row):
        """The effect's id; '' if there is none, for certain; None if no one can tell."""
        lookup = self.promised["lookup"]
        if not lookup:
            return None
        asked_at = time.time()
        name = "idempotency_key" if lookup["by"] == "key" else "reference"
        reply = self.request("GET", "/payments?" + urllib.parse.urlencode({name: row["key"]}))
        if not reply or reply[0] != 200:
            return None
        if reply[1]["data"]:
            return reply[1]["data"][0]["id"]
        patience = self.times["lease"] + (self.promised["max_in_flight_ms"] + lookup["index_delay_ms"]) / 1000
        return "" if lookup["complete"] and asked_at > row["last_at"] + patience else None

    # What to do next -----------------------------------------------------------------------------

    def verify(self, row):
        found = self.look_up(row)
        dedup = self.promised["key_dedup"]
        if found:
            self.record(row["key"], "succeeded", external_id=found)
        elif found == "" or (dedup and time.time() < row["first_at"] + dedup["window_ms"] / 1000 - 1):
            if self.claim(row):
                self.call(row, first=False)
        elif row["unknown_since"] and time.time() > row["unknown_since"] + self.times["unknown_after"]:
            self.record(row["key"], "review")
        elif row["status"] != "in_progress" or row["lease_until"] < time.time():
            self.record(row["key"], "unknown")

    def is_due(self, row):
        if row["status"] == "in_progress":
            return row["lease_until"] < time.time()
        return row["status"] == "unknown" and row["next_check"] <= time.time()

    def submit(self, message):
        text = json.dumps([message["action"], message["params"]], sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()
        row = self.find(message) or self.register(message, digest)
        if row is None or row["hash"] != digest:  # the caller's key belongs to another intent, or other parameters
            return {"status": "conflict"}
        if row["status"] == "pending" and self.claim(row):
            self.call(row, first=True)
        elif self.is_due(row):
            self.verify(row)
        return self.answer(self.load(row["key"]))

    def reconcile(self):
        rows = [row for row in self.db.execute("SELECT * FROM operations").fetchall() if self.is_due(row)]
        for row in rows:
            self.verify(row)
        settled = [row for row in rows if self.load(row["key"])["status"] in FINAL]
        return {"type": "done", "checked": len(rows), "settled": len(settled)}

    @staticmethod
    def answer(row):
        if row is None:
            return {"status": "pending"}
        reply = {"status": "verification_required" if row["status"] == "unknown" else row["status"]}
        if row["status"] == "succeeded":
            reply["external_id"] = row["external_id"]
        elif row["error_code"]:
            reply["error_code"] = row["error_code"]
        return reply


def main():
    executor = None
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "init":
            executor = Executor(message)
            reply = {"type": "ready", "name": "python-example", "capabilities": ["submit", "reconcile", "status"]}
        elif message["type"] == "shutdown":
            return
        elif message["type"] == "submit":
            reply = {"type": "answer", "id": message["id"], **executor.submit(message)}
        elif message["type"] == "status":
            reply = {"type": "answer", "id": message["id"], **executor.answer(executor.find(message))}
        else:
            reply = {"id": message["id"], **executor.reconcile()}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
