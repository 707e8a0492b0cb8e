# Everything the build takes from outside, in one place. Debian 12 and Ubuntu 24.04 carry all of it; `run` installs it.

if(DANAUS_STATIC)
  set(Boost_USE_STATIC_LIBS ON)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
endif()

find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED COMPONENTS context program_options)
find_package(nlohmann_json 3.9 REQUIRED)
find_package(GTest 1.12 REQUIRED)
find_package(benchmark 1.7 REQUIRED)

# FFTW3 and libsndfile ship no CMake package on Debian.
find_path(FFTW3_INCLUDE_DIR fftw3.h REQUIRED)
find_library(FFTW3_LIBRARY fftw3 REQUIRED)
add_library(FFTW3::fftw3 UNKNOWN IMPORTED)
set_target_properties(FFTW3::fftw3 PROPERTIES
  IMPORTED_LOCATION ${FFTW3_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${FFTW3_INCLUDE_DIR})

find_path(SNDFILE_INCLUDE_DIR sndfile.h REQUIRED)
find_library(SNDFILE_LIBRARY NAMES libsndfile.so sndfile REQUIRED)
add_library(SndFile::sndfile UNKNOWN IMPORTED)
set_target_properties(SndFile::sndfile PROPERTIES
  IMPORTED_LOCATION ${SNDFILE_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${SNDFILE_INCLUDE_DIR})

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

# Compiler flags that every host target shares. No -ffast-math: isnan must work in reference and comparator.
add_library(danaus_flags INTERFACE)
target_compile_options(danaus_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>)
if(DANAUS_SANITIZE)
  target_compile_options(danaus_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DANAUS_SANITIZE};-fno-sanitize-recover=all>)
  target_link_options(danaus_flags INTERFACE -fsanitize=${DANAUS_SANITIZE})
endif()
if(DANAUS_STATIC)
  target_link_options(danaus_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()
