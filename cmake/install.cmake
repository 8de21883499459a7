# What `cmake --install` gives: the program; the libraries base and reference with their headers, for find_package(onceproof);
# and the same as a Debian package, by `cpack`. docs/library.md is for those who use it.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/onceproof)
install(TARGETS onceproof)
install(TARGETS onceproof_base onceproof_net onceproof_reference EXPORT onceproofTargets
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onceproof)
install(EXPORT onceproofTargets NAMESPACE onceproof:: DESTINATION ${config_dir})

# Headers include each other from the root ("base/json.h"), so the root is include/onceproof. Those for tests stay here;
# property_tests/install_test.py finds one that was forgotten.
install(DIRECTORY base net reference DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/onceproof
  FILES_MATCHING PATTERN *.h
  REGEX "/(executor_world|journal_conformance|journal_samples|ledger_provider|raw_client|scripted_server|seam_journal|synced_vfs)[.]h$" EXCLUDE)

configure_package_config_file(cmake/onceproofConfig.cmake.in ${CMAKE_BINARY_DIR}/onceproofConfig.cmake
  INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/onceproofConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/onceproofConfig.cmake ${CMAKE_BINARY_DIR}/onceproofConfigVersion.cmake
  DESTINATION ${config_dir})
install(FILES LICENSE NOTICE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/onceproof)

# One package. What the program is linked with, dpkg-shlibdeps finds; what find_package(onceproof) needs are the packages that
# we build with, but those of the tests and CLI11, which only the program includes.
file(STRINGS cmake/packages.txt dev_packages REGEX "-dev$|^pkg-config$")
list(FILTER dev_packages EXCLUDE REGEX "cli11|gtest|rapidcheck")
list(JOIN dev_packages ", " dev_packages)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME onceproof)
set(CPACK_PACKAGE_CONTACT "The onceproof authors <authors@onceproof.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "Plays lost replies, late indexes and killed workers against an executor of agent actions, and
counts the effects in the provider's own ledger. With the reference executor as a C++20 library.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS  # whatever the umask is
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS ${dev_packages})
include(CPack)
