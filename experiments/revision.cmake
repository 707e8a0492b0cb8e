# Writes OUTPUT, a C++ file that says which sources the program is built from. Run at every build; the file changes only
# when the answer does.
#   git, dirty   the commit, for people
#   sources      a digest of the files themselves, of code without its comments and blanks: it knows uncommitted changes
#                and needs no git; the others are the same of fewer files
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE GIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_git)
set(DIRTY false)
if(no_git)
  set(GIT unknown)
else()
  execute_process(COMMAND git -C ${SOURCE_DIR} diff --quiet HEAD ERROR_QUIET RESULT_VARIABLE changed)
  if(changed)
    set(DIRTY true)
  endif()
endif()

# Sets OUTPUT to the digest of what some files hold, but for tests, comments, blanks and which headers they include:
# moving or renaming a file changes nothing.
function(digest_of_files output)
  set(all "")
  foreach(file ${ARGN})
    if(NOT file MATCHES "_test[.]cpp$")
      file(READ ${SOURCE_DIR}/${file} text)
      if(NOT file MATCHES "[.]json$")
        string(REGEX REPLACE "//[^\n]*|#include [^\n]*" "" text "${text}")
      endif()
      string(REGEX REPLACE "[ \t\n]+" "" text "${text}")
      string(SHA256 digest "${text}")
      list(APPEND all ${digest})
    endif()
  endforeach()
  list(SORT all)
  string(SHA256 digest "${all}")
  string(SUBSTRING ${digest} 0 12 digest)
  set(${output} ${digest} PARENT_SCOPE)
endfunction()

# The same of the sources in some folders but for those that EXCEPT, a regular expression, matches from the beginning.
function(digest_of output except)
  set(all "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE files RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/${folder}/*.[ch]pp ${SOURCE_DIR}/${folder}/*.cu
         ${SOURCE_DIR}/${folder}/*.cuh ${SOURCE_DIR}/${folder}/*.in ${SOURCE_DIR}/${folder}/*.json
         ${SOURCE_DIR}/${folder}/*.cmake)
    list(FILTER files EXCLUDE REGEX "^(${except})")
    list(APPEND all ${files})
  endforeach()
  digest_of_files(digest ${all})
  set(${output} ${digest} PARENT_SCOPE)
endfunction()

# Sets OUTPUT to some files and all that these include of FOLDER but for what EXCEPT matches; with BESIDE, an extension,
# also the sources beside these headers.
function(with_includes output folder except beside)
  set(pending ${ARGN})
  set(known "")
  while(pending)
    list(POP_FRONT pending file)
    if(file IN_LIST known OR NOT EXISTS ${SOURCE_DIR}/${file})
      continue()
    endif()
    list(APPEND known ${file})
    file(STRINGS ${SOURCE_DIR}/${file} includes REGEX "^#include \"${folder}/")
    foreach(include ${includes})
      string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" header "${include}")
      if(NOT header MATCHES "^(${except})")
        list(APPEND pending ${header})
        if(beside)
          string(REGEX REPLACE "[.][a-z]+$" "${beside}" source "${header}")
          list(APPEND pending ${source})
        endif()
      endif()
    endforeach()
  endwhile()
  set(${output} ${known} PARENT_SCOPE)
endfunction()

digest_of(SOURCES "experiments/results/" reference kernels model experiments)
# What a GPU runs: the executor checks and counts kernels, and changes none.
digest_of(ALL_KERNELS "kernels/(executor|cpu)/" kernels)
# What times, whatever is timed: not what verifies, chooses and prints. And the flags that nvcc is given.
digest_of(STOPWATCH "experiments/timing/array_noise|cmake/(danaus|dependencies|package)" experiments/timing cmake)

file(GLOB families RELATIVE ${SOURCE_DIR}/kernels/families ${SOURCE_DIR}/kernels/families/*/family.hpp)
list(TRANSFORM families REPLACE "/family.hpp$" "")
# What nvcc makes a family's kernels of.
set(KERNELS "")
foreach(family ${families})
  set(folder kernels/families/${family})
  with_includes(sources kernels "kernels/(executor|plan)/" "" kernels/cuda/instances.cu.in kernels/cuda/kernel.hpp
    ${folder}/kernel.hpp ${folder}/family.hpp)
  digest_of_files(DIGEST ${sources})
  string(APPEND KERNELS "    {\"${family}\", \"${DIGEST}\"},\n")
endforeach()
# By the files' names, with which those of their methods begin.
file(GLOB baselines RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/experiments/methods/baselines/*.cpp
     ${SOURCE_DIR}/experiments/methods/baselines/*.cu)
set(BASELINES "")
foreach(baseline ${baselines})
  get_filename_component(name ${baseline} NAME_WE)
  with_includes(sources experiments/methods/baselines "nothing" ".cpp" ${baseline})
  digest_of_files(DIGEST ${sources})
  string(APPEND BASELINES "    {\"${name}\", \"${DIGEST}\"},\n")
endforeach()

file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include <span>

#include "experiments/cli/environment.hpp"

namespace danaus {

const Revision kRevision{"@GIT@", @DIRTY@, "@SOURCES@", "@STOPWATCH@", "@ALL_KERNELS@"};

namespace {

struct Code {
  std::string_view name, digest;
};
constexpr Code kKernels[] = {
@KERNELS@};
constexpr Code kBaselines[] = {
@BASELINES@};

// Of the longest name that `whole` is, or begins with before an underscore.
std::string code_in(std::span<const Code> codes, std::string_view whole, std::string_view otherwise) {
  Code found{"", otherwise};
  for (const Code& code : codes) {
    const auto& name = code.name;
    const bool begins = whole.starts_with(name) && (whole.size() == name.size() || whole[name.size()] == '_');
    if (begins && name.size() > found.name.size()) found = code;
  }
  return std::string(found.digest);
}

}  // namespace

std::string sources_of_family(std::string_view family) { return code_in(kKernels, family, "no kernel"); }
std::string code_of_baseline(std::string_view method) { return code_in(kBaselines, method, "no baseline"); }

}  // namespace danaus
]])
