/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FACTS_H
#define TP_CHECK_CHECK_FACTS_H

#include "check/check_script.h"

/*
 * Reads a source, which must outlive the script, and collects its facts.
 * Fails with TP_E_MEMORY or TP_E_LIMIT. Release with tp_script_clear, also
 * after a failure.
 */
enum tp_status tp_script_read(const char *source, size_t length,
                              struct tp_script *script, struct tp_error *err);

#endif
