#include "base/text.h"

#include <gtest/gtest.h>

namespace onceproof {
namespace {

using namespace std::string_view_literals;

TEST(EscapeTerminalTest, LeavesReadableTextAlone) {
  EXPECT_EQ(escape_terminal(""), "");
  EXPECT_EQ(escape_terminal("Заказ 817 на 4900 ₽ 🙂 \"a\" \\ <b>"),
            "Заказ 817 на 4900 ₽ 🙂 \"a\" \\ <b>");
}

TEST(EscapeTerminalTest, ShowsControlCharacters) {
  EXPECT_EQ(escape_terminal("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(escape_terminal("a\nb\rc\td\0e\x7f"sv), "a\\nb\\x0dc\\x09d\\x00e\\x7f");
  EXPECT_EQ(escape_terminal("\xc2\x9b"), "\\x9b");  // U+009B: CSI in one character
}

TEST(EscapeTerminalTest, ShowsWhatWouldMakeALineReadBackwards) {
  EXPECT_EQ(escape_terminal("a\u202eb\u2066c\u200fd\u061ce\u2028f"),
            "a\\u202eb\\u2066c\\u200fd\\u061ce\\u2028f");
}

TEST(EscapeTerminalTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(escape_terminal("\xff"), "\\xff");
  EXPECT_EQ(escape_terminal("\x80"), "\\x80");                    // a continuation without its head
  EXPECT_EQ(escape_terminal("\xc0\xaf"), "\\xc0\\xaf");           // overlong "/"
  EXPECT_EQ(escape_terminal("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(escape_terminal("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
  EXPECT_EQ(escape_terminal("a\xe2\x82"), "a\\xe2\\x82");                  // cut off at the end
  EXPECT_EQ(escape_terminal("\xe2\x82"
                            "b"),
            "\\xe2\\x82"
            "b");
}

TEST(EscapeXmlTest, EscapesMarkup) {
  EXPECT_EQ(escape_xml("<a href=\"x\">'&'</a>"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape_xml("]]>"), "]]&gt;");
  EXPECT_EQ(escape_xml("платёж\n\t🙂"), "платёж\n\t🙂");
}

TEST(EscapeXmlTest, ReplacesWhatXmlForbids) {
  EXPECT_EQ(escape_xml("a\0b\x1b\x0c"sv), "a\ufffdb\ufffd\ufffd");
  EXPECT_EQ(escape_xml("\xef\xbf\xbe"), "\ufffd");  // U+FFFE
  EXPECT_EQ(escape_xml("\xff\xc0\xaf"), "\ufffd\ufffd\ufffd");
}

TEST(ShortenTest, LeavesShortTextAlone) {
  EXPECT_EQ(shorten("", 0), "");
  EXPECT_EQ(shorten("exact", 5), "exact");
}

TEST(ShortenTest, CutsAtACharacterAndMarksTheCut) {
  EXPECT_EQ(shorten("abcdefgh", 6), "abc…");
  EXPECT_EQ(shorten("ёжик", 6), "ё…");  // "ё" has two bytes: three bytes of text cannot hold "ёж"
  EXPECT_EQ(shorten("🙂🙂🙂", 8), "🙂…");
}

TEST(ShortenTest, NeverGivesMoreThanWasAsked) {
  for (const auto text :
       {"abcdefgh"sv, "ёжик ёжик"sv, "🙂🙂🙂🙂"sv, "\x80\x80\x80\x80\x80\x80\x80\x80"sv}) {
    for (std::size_t max = 0; max < text.size() + 2; ++max) {
      EXPECT_LE(shorten(text, max).size(), max) << text << " in " << max;
    }
  }
}

TEST(ShortenTest, KeepsBytesThatAreNotUtf8) {
  EXPECT_EQ(shorten("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 9), "\x80\x80\x80…");
}

TEST(TextTest, AWordForAShellIsQuotedIfItMustBe) {
  EXPECT_EQ(quote_shell("payments/lost:reply-1.yaml"), "payments/lost:reply-1.yaml");
  EXPECT_EQ(quote_shell("two words"), "'two words'");
  EXPECT_EQ(quote_shell(""), "''");
  EXPECT_EQ(quote_shell("it's"), "'it'\\''s'");
  EXPECT_EQ(quote_shell("$(rm)"), "'$(rm)'");
  EXPECT_EQ(quote_shell("\xd0\xb7 1"), "'\xd0\xb7 1'");
}

TEST(TextTest, AWordForAShellCarriesNoControlCharacterToTheTerminal) {
  EXPECT_EQ(quote_shell("p\x1b[31mX"), "$'p\\033[31mX'");
  EXPECT_EQ(quote_shell("it's\n1\\"), "$'it\\'s\\0121\\\\'");
  EXPECT_EQ(quote_shell("\xd0\xb7\xc2\x9b\xff"), "$'\xd0\xb7\\302\\233\\377'");
  EXPECT_EQ(quote_shell("a\u202e"), "$'a\\342\\200\\256'");
}

TEST(TextTest, LowerIsForAsciiLettersOnly) {
  EXPECT_EQ(to_lower("Content-TYPE @[Ä"), "content-type @[Ä");
}

TEST(TextTest, TrimTakesBothEndsOnly) {
  EXPECT_EQ(trim(" \ta b\t "), "a b");
  EXPECT_EQ(trim("a\r"), "a\r");
  EXPECT_EQ(trim("a\r", " \r"), "a");
  EXPECT_EQ(trim(" \t"), "");
}

}  // namespace
}  // namespace onceproof
