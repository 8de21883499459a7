# cmake -DFOLDER=... -DOUTPUT=... -P embed_catalogue.cmake: writes the scenario files as a C++ array, so that the binary has
# its catalogue with it wherever it is run from.
file(GLOB files ${FOLDER}/*.yaml)
list(SORT files)
set(text "// Made by cmake/embed_catalogue.cmake.\n#include \"scenarios/catalogue.h\"\n\nnamespace onceproof::scenarios {\nnamespace {\n\nconstexpr CatalogueText kTexts[] = {\n")
foreach(file ${files})
  get_filename_component(name ${file} NAME)
  file(READ ${file} content)
  string(APPEND text "    {\"${name}\", R\"onceproof(${content})onceproof\"},\n")
endforeach()
string(APPEND text "};\n\n}  // namespace\n\nstd::span<const CatalogueText> catalogue_texts() { return kTexts; }\n\n}  // namespace onceproof::scenarios\n")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "@text@" @ONLY)
