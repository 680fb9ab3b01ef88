/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_PURPOSE_H
#define TP_CHECK_CHECK_PURPOSE_H

#include "check/check_place.h"

/* What code is for: to train a network, or to use one. Both may be unknown. */

/* Whether the name of a file or of the folders next above it is that of
 * inference, of measurements or of tests. NULL: no. */
bool tp_path_infers(const char *path);

/* Whether code is known not to train: under no_grad, behind eval(), in a
 * function, a class or a file that says so by its name, in a script that calls
 * eval() or loads weights by itself and does not train. */
bool tp_flow_only_infers(const struct tp_flow *flow);

/* Whether code by its function runs beside training: under no_grad, behind
 * eval(), to validate, or to attack a network. */
bool tp_flow_is_aside(const struct tp_flow *flow);

/* Whether code may train: a forward, a method of a module or a trainer, a loss
 * or a step by its name, or a script that calls backward(), has an optimizer or
 * a GradScaler. */
bool tp_flow_trains(const struct tp_flow *flow);

/* Whether code is only tried or run once, as far as can be told: a function, or
 * what runs where the file is the program, of a script that never steps. */
bool tp_flow_only_tries(const struct tp_flow *flow);

/* Whether code is known to train: its function calls backward() or
 * zero_grad(), or computes a loss by its name, or it is the forward or the
 * constructor of a module in a script that trains, or a constructor or a step
 * of a trainer; outside of functions, the script trains, or is a fragment that
 * imports nothing of torch. */
bool tp_flow_trains_here(const struct tp_flow *flow);

/* Whether an expression is a network that the script freezes somewhere:
 * requires_grad_(False), train(False), or so for each of its parameters; or
 * by its name a teacher or a reference. */
bool tp_flow_is_frozen(const struct tp_flow *flow, uint32_t node);

/* Whether an expression is what goes through a network and not a part of it,
 * by its name: inputs, images, labels, indices; of a function that itself
 * computes gradients, only masks. */
bool tp_flow_is_data(const struct tp_flow *flow, uint32_t node);

/* Whether the script has a framework that trains in 16 bits with fp32 copies of
 * the weights: DeepSpeed, apex, the FP16_Optimizer of others. */
bool tp_flow_keeps_copies(const struct tp_flow *flow);

/* Whether the class derives from one whose name has `word`. */
bool tp_flow_derives(const struct tp_flow *flow, const char *word);

#endif
