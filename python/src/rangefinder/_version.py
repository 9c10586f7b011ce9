# SPDX-License-Identifier: MIT
# The project's version, as in CMakeLists.txt.
__version__ = "0.1.0"
