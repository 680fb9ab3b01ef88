/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_SCAN_CRC_H
#define TP_SCAN_SCAN_CRC_H

#include "scan/pass.h"

/* The CRC-32 of a storage: along with the first reading of a tensor that shows
 * all of it as it is stored; by a reading of its own where one does not. */
struct tp_crc {
    uint32_t crc;
    bool apart; /* by a reading of its own                                */
    bool along; /* by tp_sink_crc, with a state of this type              */
};

extern const struct tp_sink tp_sink_crc;

/* What is to be done for the tensor of a pass: nothing, if its storage has no
 * checksum or was checked. */
struct tp_crc tp_crc_of(const struct tp_pass *pass);

/* Reads the storage for its checksum, and judges it. */
enum tp_status tp_crc_check_apart(const struct tp_pass *pass);

/* Judges what tp_sink_crc computed; TP_E_DAMAGED: it is another one. */
enum tp_status tp_crc_judge(const struct tp_crc *crc,
                            const struct tp_pass *pass);

#endif
