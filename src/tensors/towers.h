/* SPDX-License-Identifier: MIT */
#ifndef TP_TENSORS_TOWERS_H
#define TP_TENSORS_TOWERS_H

#include "tensors/run.h"

/*
 * Keeps apart what has the same labels in two stacks of layers of one model:
 * an encoder and a decoder, towers of images and of text, a model and its mean.
 * There the name of a tensor gets the word of its module's path in which these
 * differ: "encoder.fc1.weight". Before tp_run_number. TP_E_MEMORY only.
 */
enum tp_status tp_towers_part(struct tp_run *run, struct tp_error *err);

#endif
