# Installs the built library, builds the examples against it as a stranger would, with the shared and the static library,
# and runs them: cmake -DBUILD=... -DSOURCE=... -DSCRATCH=... -P package_test.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nended with ${code}:\n${output}")
  endif()
  message("${output}")
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
foreach(STATIC IN ITEMS OFF ON)
  set(examples ${SCRATCH}/examples-${STATIC})
  run(${CMAKE_COMMAND} -S ${SOURCE}/examples -B ${examples} -G Ninja -DCMAKE_PREFIX_PATH=${SCRATCH}/prefix
      -Ddanaus_USE_STATIC_LIBS=${STATIC})
  run(${CMAKE_COMMAND} --build ${examples})
  run(${examples}/convolve)
  run(${examples}/plan)
endforeach()
# It brings neither the executor's library nor the reference's.
execute_process(COMMAND ldd ${SCRATCH}/examples-OFF/plan OUTPUT_VARIABLE libraries)
if(libraries MATCHES "boost|fftw" OR NOT libraries MATCHES "libdanaus")
  message(FATAL_ERROR "the shared library needs what it should not, or is not used:\n${libraries}")
endif()
