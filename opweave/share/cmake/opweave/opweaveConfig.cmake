# find_package(opweave) gives the target opweave::opweave: headers of C++ op libraries, and the runtime that they need.
#
#   cmake -DCMAKE_PREFIX_PATH="$(python -c 'import opweave.utils as u; print(u.cmake_prefix_path)')" ..
get_filename_component(OPWEAVE_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
if(NOT OPWEAVE_TVM_FFI_DIR)
  find_program(OPWEAVE_PYTHON NAMES python3 python)
  execute_process(
    COMMAND "${OPWEAVE_PYTHON}" -c "import tvm_ffi, os; print(os.path.dirname(tvm_ffi.__file__), end='')"
    OUTPUT_VARIABLE OPWEAVE_TVM_FFI_DIR
    RESULT_VARIABLE OPWEAVE_FFI_STATUS)
  if(NOT OPWEAVE_FFI_STATUS EQUAL 0)
    message(FATAL_ERROR "opweave: ${OPWEAVE_PYTHON} has no apache-tvm-ffi; set OPWEAVE_PYTHON or OPWEAVE_TVM_FFI_DIR")
  endif()
endif()
if(NOT TARGET opweave::opweave)
  add_library(opweave::opweave INTERFACE IMPORTED)
  set_target_properties(opweave::opweave PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${OPWEAVE_INCLUDE_DIR};${OPWEAVE_TVM_FFI_DIR}/include"
    INTERFACE_COMPILE_FEATURES cxx_std_17
    INTERFACE_LINK_LIBRARIES "${OPWEAVE_TVM_FFI_DIR}/lib/libtvm_ffi.so")
endif()
set(opweave_FOUND TRUE)
