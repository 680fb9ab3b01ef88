/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_PACKAGE_H
#define TP_CHECK_CHECK_PACKAGE_H

#include "check/check_file.h"

/* What the scripts of one package tell of each other. */

/* Lowers findings that other scripts below the same root speak against; files
 * that are named one by one are one package. False when memory is out. */
bool tp_package_lower(struct tp_check_file *files, size_t count);

#endif
