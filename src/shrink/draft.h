/* Drafts: the model with heads as a conversion leaves them, whose tensors can be read in other
 * number formats; and which formats there are to choose from. */
#pragma once

#include "compress/compress.h"
#include "shrink/recoding.h"
#include "shrink/trial.h"

/* What becomes of a module's heads, by a method of compress. A conversion is one for each module of
 * the original's view; NULL: all stay as they are. */
struct al_fewer_heads {
	enum al_method method; /* AL_METHOD_IDENTITY: heads stay as they are */
	int64_t setting; /* key/value heads that are left (gqa), or heads that go */
};

/* Where drafts come from: what is to be written, and how it is opened again. */
struct al_drafting {
	struct al_model_view *view; /* the original's */
	const char *path; /* of what will be written, without a slash behind it: drafts are next
			     to it, for a moment */
	bool is_gguf;
	bool is_translated; /* the original is in no file as it is to be written */
	const struct al_calibration *calibration;
	int64_t cached_tokens; /* 0: the cache doesn't count */
	/* Lays the original's family over a checkpoint. */
	bool (*lay)(void *context, struct al_checkpoint *checkpoint, struct al_model_view *view,
		struct al_error *err);
	void *context;
	const struct al_watch *watch;
};

/* A format that tensors can get, or fewer heads. */
struct al_rung {
	const struct al_dtype *dtype;
	struct al_fewer_heads heads;
	uint64_t bytes;
	double error; /* squared and relative: of numbers, estimated from some; or of modules'
			 outputs, weighed */
	double cost; /* the KL divergence that is expected of it; the error while none is */
};

/* What tensors are for; formats of tensors for the same weigh alike. */
enum al_purpose {
	AL_FOR_TABLE, /* of the vocabulary */
	AL_FOR_HEAD,
	AL_FOR_QUERY,
	AL_FOR_KEY,
	AL_FOR_VALUE,
	AL_FOR_OUTPUT,
	AL_FOR_UP,
	AL_FOR_GATE,
	AL_FOR_DOWN,
	AL_FOR_ALL, /* all tensors change together */
	AL_N_PURPOSES,
};
extern const char *const al_purpose_names[AL_N_PURPOSES];

/* Tensors that get one format: one in a GGUF file, all in others. Or modules whose heads become
 * fewer in one way: all in a GGUF file, one in others, without tensors. */
struct al_choice {
	enum al_purpose purpose;
	const char *name; /* of its tensor */
	size_t *tensors; /* of the draft's checkpoint, [n] */
	size_t n;
	int64_t n_elements;
	struct al_rung
		*rungs; /* from its own format on, ever smaller, those alone that lose least for
				  what they save */
	size_t n_rungs;
};

struct al_draft {
	struct al_arena arena;
	const struct al_fewer_heads *conversion; /* the caller's */
	struct al_checkpoint checkpoint;
	struct al_model_view view;
	struct al_network network;
	struct al_recoding recoding;
	uint64_t bytes; /* of its tensors, in their own formats */
	uint64_t cached; /* bytes of the cache */
	struct al_choice *choices;
	size_t n_choices;
	bool is_open;
};

/* Bytes of a number in the cache: float16. */
enum { AL_CACHED_BYTES = 2 };

/* With these heads. On failure nothing is left to close. */
bool al_draft_open(struct al_draft *draft, const struct al_drafting *from,
	const struct al_fewer_heads *conversion, struct al_error *err) AL_MUST_CHECK;
/* A file that is there, without choices. */
bool al_draft_open_file(struct al_draft *draft, const struct al_drafting *from, const char *path,
	struct al_error *err) AL_MUST_CHECK;
void al_draft_close(struct al_draft *draft);

/* The options of compress for a conversion, which outlives them, as the arena does. */
struct al_compress_options al_conversion_options(struct al_arena *arena,
	const struct al_drafting *from, const struct al_fewer_heads *conversion);

/* ---- choices.c ---- */

/* Leaves the rungs on the lower convex hull of costs over bytes. */
void al_choice_keep_hull(struct al_choice *choice);

/* Sets the draft's choices, without what their formats cost. */
bool al_choices_find(struct al_draft *draft, bool is_gguf, struct al_error *err) AL_MUST_CHECK;

/* Gives all tensors of these choices the format of a rung, the last one that there is where there
 * are fewer; AL_N_PURPOSES: of all choices. */
bool al_choices_set(struct al_draft *draft, enum al_purpose purpose, size_t rung,
	struct al_error *err) AL_MUST_CHECK;
