# find_package(isoform) gives isoform::isoform, the shared library, and isoform::static.
get_filename_component(_isoform_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET isoform::isoform)
  add_library(isoform::isoform SHARED IMPORTED)
  set_target_properties(isoform::isoform PROPERTIES
    IMPORTED_LOCATION "${_isoform_prefix}/lib/@SHARED@"@IMPORT@
    INTERFACE_INCLUDE_DIRECTORIES "${_isoform_prefix}/include")

  add_library(isoform::static STATIC IMPORTED)
  set_target_properties(isoform::static PROPERTIES
    IMPORTED_LOCATION "${_isoform_prefix}/lib/libisoform.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_isoform_prefix}/include"
    INTERFACE_LINK_LIBRARIES "@LIBRARIES@")
endif()

unset(_isoform_prefix)
