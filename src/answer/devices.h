/* The options that lay a whole model over devices. */
#pragma once

#include "answer/request.h"
#include "ledger/train.h"

struct al_device_options {
	bool is_whole, is_training;
	const char *parts, *dtype, *cache_dtype, *device;
	struct al_training training; /* its degrees and ZeRO stage */
	int recompute, loss;
};

/* --train and --dtype; all others. */
extern const struct al_option_row al_weight_rows[], al_device_rows[];

/* Lays out the training that the options describe, with the request's batch, seq and rank (default:
 * batch 1 and the model's own context). */
bool al_devices_init(struct al_training *training, const struct al_device_options *options,
	struct al_request *request, struct al_error *err) AL_MUST_CHECK;

/* Refuses options of training without --train, and those of inference with it. */
bool al_devices_check_mode(const struct al_command_line *line,
	const struct al_device_options *options, struct al_error *err) AL_MUST_CHECK;

/* Names devices of which all memory that is sold counts, for want of a measurement. */
struct al_gpus;
void al_note_nominal(const struct al_gpus *gpus, struct al_table *table);

/* Refuses options that only a whole model has. */
bool al_devices_refuse(const struct al_command_line *line, const struct al_request *request,
	struct al_error *err) AL_MUST_CHECK;

/* "zero=1, tp=8, ...": what isn't as on one device. */
void al_devices_note(const struct al_training *training, struct al_table *table);

/* Opens the whole model of a request until the session ends; `configured` NULL: with its own
 * attention, `quantization` NULL: none is asked for. NULL: it can't be. */
struct al_ledger *al_open_model(struct al_request *request,
	const struct al_configured_variant *configured, int64_t tp,
	enum al_tensor_list_detail detail, struct al_quantization *quantization,
	struct al_error *err) AL_MUST_CHECK;

/* The same of a model in training. */
struct al_ledger *al_open_training(struct al_request *request,
	const struct al_configured_variant *configured, const struct al_training *training,
	struct al_error *err) AL_MUST_CHECK;
