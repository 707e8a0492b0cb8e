# Everything the build takes from outside, in one place. Debian 12 and Ubuntu 24.04 carry all of it; `run` installs it.

if(DANAUS_STATIC)
  set(Boost_USE_STATIC_LIBS ON)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a ${CMAKE_FIND_LIBRARY_SUFFIXES})
endif()

find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Boost 1.74 REQUIRED COMPONENTS context program_options)
find_package(nlohmann_json 3.9 REQUIRED)
if(DANAUS_TESTS)
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 REQUIRED)
endif()

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

include(cmake/cuda.cmake)

# Compiler flags that every host target shares. No -ffast-math: isnan must work in reference and comparator.
add_library(danaus_flags INTERFACE)
target_compile_options(danaus_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra>)
if(CMAKE_UNITY_BUILD)  # the compiler takes files that it reads together for headers
  target_compile_options(danaus_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(DANAUS_SANITIZE)
  set(sanitized $<NOT:$<BOOL:$<TARGET_PROPERTY:DANAUS_UNSANITIZED>>>)
  target_compile_options(danaus_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,${sanitized}>:-fsanitize=${DANAUS_SANITIZE};-fno-sanitize-recover=all>)
  # AddressSanitizer sees what these look for, and without them everything compiles in two thirds of the time.
  target_compile_options(danaus_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,${sanitized}>:-fno-sanitize=null$<COMMA>object-size>)
  target_link_options(danaus_flags INTERFACE -fsanitize=${DANAUS_SANITIZE})
endif()
if(DANAUS_STATIC)
  target_link_options(danaus_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()
