/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_DEEPSPEED_H
#define TP_CHECK_DEEPSPEED_H

#include "check/check_findings.h"

/*
 * Looks at a configuration of DeepSpeed, which is known by its keys; findings
 * stand on the line of theirs. Fails with TP_E_UNSUPPORTED for any other JSON,
 * TP_E_DAMAGED for a configuration that is none, and TP_E_MEMORY.
 */
enum tp_status tp_deepspeed_check(const char *text, size_t length,
                                  struct tp_check_findings *findings,
                                  struct tp_error *err);

#endif
