/* SPDX-License-Identifier: MIT */
#include "dump/dump_checks.h"

enum tp_status tp_dump_check_add(const struct tp_dump_checker *checker,
                                 const struct tp_dump_at *at,
                                 enum tp_dump_check_id check,
                                 enum tp_severity level,
                                 struct tp_dump_finding **finding,
                                 struct tp_error *err)
{
    enum tp_status status = tp_dump_finding_add(checker->findings, check, level,
                                                at->place, finding, err);
    if (status != TP_OK)
        return status;
    struct tp_text name = {0};
    tp_dump_item_name(at->call, at->item, "kwargs", &name);
    (*finding)->order = at->call - at->place->calls;
    (*finding)->item = at->item - (at->place->items + at->call->first);
    (*finding)->name =
        tp_dump_finding_text(checker->findings, "%s", tp_text_get(&name));
    if (name.failed)
        status = tp_fail_memory(err);
    tp_text_clear(&name);
    return status;
}
