# Whether the CUDA parts are built, and for which GPUs.

if(DANAUS_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(DANAUS_CUDA_ENABLED ON)
  else()
    set(DANAUS_CUDA_ENABLED OFF)
  endif()
else()
  set(DANAUS_CUDA_ENABLED ${DANAUS_CUDA})
endif()
message(STATUS "CUDA parts: ${DANAUS_CUDA_ENABLED}")
if(DANAUS_CUDA_ENABLED)
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # each kernel target names its own, from DANAUS_CUDA_ARCHITECTURES
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know nvcc's
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()

# Where nobody says which architectures: those of the GPUs of this machine, or that of H100 and H200 where it has none.
if(DANAUS_CUDA_ENABLED AND NOT DANAUS_CUDA_ARCHITECTURES)
  set(found "")
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
    OUTPUT_VARIABLE capabilities ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    string(REGEX MATCHALL "[0-9]+\\.[0-9]" capabilities "${capabilities}")
    foreach(capability IN LISTS capabilities)
      string(REPLACE "." "" architecture ${capability})
      if(architecture GREATER_EQUAL 90)
        string(APPEND architecture "a")
      endif()
      list(APPEND found ${architecture})
    endforeach()
    list(REMOVE_DUPLICATES found)
  endif()
  if(found)
    set(DANAUS_CUDA_ARCHITECTURES ${found} CACHE STRING "" FORCE)
  else()
    set(DANAUS_CUDA_ARCHITECTURES 90a)
    set(DANAUS_CUDA_NOWHERE ON)  # nothing here will run it
  endif()
endif()
if(DANAUS_CUDA_ENABLED)
  message(STATUS "CUDA architectures: ${DANAUS_CUDA_ARCHITECTURES}")
endif()

# Compiles a target's CUDA sources for these architectures.
function(danaus_cuda_architectures target)
  foreach(architecture IN LISTS ARGN)
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-gencode arch=compute_${architecture},code=sm_${architecture}>")
  endforeach()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "[.]cu$")
  set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # CMake 3.31 would join these too
endfunction()

