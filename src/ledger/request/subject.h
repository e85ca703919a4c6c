/* Inside the request: who is asked about. */
#pragma once

#include "catalog/tensor_list.h"
#include "ledger/request/request.h"

/* Finds the model and its family, or the variant that was named. */
bool al_request_find_subject(struct al_request *request, const struct al_asked *asked,
	struct al_error *err) AL_MUST_CHECK;

/* Where no variant was asked for: the attention block that the model itself has. `detail` sets
 * whether the model's tensors are checked at the same time. */
bool al_request_add_own_block(struct al_request *request, enum al_tensor_list_detail detail,
	struct al_error *err) AL_MUST_CHECK;
