/* Inside the quantization: what a scheme reads for some of the tensors. */
#pragma once

#include "ledger/quantize.h"

/* Tensors that one set of settings is for. */
struct al_quantization_group {
	struct al_settings settings; /* what the scheme reads of the model's files */
	struct al_patterns *targets; /* NULL: all */
	bool has_linear; /* the class "Linear" is one of the targets */
};
