/* Inside the request: "KEY=VALUE", and who is asked about. */
#ifndef ATTNLEDGER_REQUEST_TEXTS_H
#define ATTNLEDGER_REQUEST_TEXTS_H

#include "catalog/tensor_list.h"
#include "ledger/request/request.h"

/* "KEY=VALUE" cut in two; NULL in *value where there is no '='. */
const char *al_text_cut(struct al_arena *arena, const char *text, const char **value);

/* Finds the model and its family, or the variant that was named. */
bool al_request_find_subject(struct al_request *request, const struct al_asked *asked,
	struct al_error *err) AL_MUST_CHECK;

/* Where no variant was asked for: the attention block that the model itself has. `detail` says
 * whether the model's tensors are checked at the same time. */
bool al_request_add_own_block(struct al_request *request, enum al_tensor_list_detail detail,
	struct al_error *err) AL_MUST_CHECK;

#endif
