/* Families: a model's config.json, all its tensors and their stored names, as data.
 *
 * * A family maps config keys to symbols, lists the attention modules (each a variant with
 * settings) and every other tensor. `for` repeats an item, `when` is the condition under which it
 * exists: a head that is stored alone unless it is tied is two entries, one with "tied_to" and
 * "when": "tied", one with "when": "not tied". In a name, {layer} stands for a loop's variable.
 *
 * * "like" names another family, built in or a file relative to this one, of which the file gives
 * only the differences (like.c). Its title, source, note and model_types aren't taken over.
 *
 * * "architectures" are the classes that a config's key of that name may contain, and how they
 * differ: {"LlamaForCausalLM": {"lm_head": true}, "LlamaForSequenceClassification": {"classes":
 * "labels"}}; of "*ForCausalLM" the star is the family's "class", "Llama". A symbol that one of
 * them doesn't set is 0 in it, so that heads are tensors "when": "lm_head", or of shape
 * ["classes", "d_model"]. Where a config has none, or none that is known, the first is taken.
 *
 * * A loop is {"layer": "n_layers"}, or of experts {"expert": ["n_experts", "n_active"]}: how many
 * there are and how many of them work on one token. What is stored in addition to the model (layers
 * that predict further tokens) is "apart": {"multi-token prediction": {"layer": "n_layers"}} sets
 * from which iteration of a loop on; it is counted by itself, and has no share in the model's
 * parameters.
 *
 * * A tensor's "kind" is as a variant's; of part norm, "norm" is its scale and "bias" its bias. A
 * norm outside of the layers names the "stage" of a pipeline at which its input is saved: "first"
 * (behind the embedding) or "last".
 *
 * * A feed-forward matrix or bias has a "role": "up" or "gate" reads what is as wide as the model
 * (of a gate and an up-projection fused: "up"), "down" writes it, "router" chooses the experts.
 *
 * * A buffer that checkpoints of an earlier version have is "old": it is known, and in no total.
 * "spellings" are what other checkpoints of the family call tensors, pair by pair: of
 * ["LayerNorm.weight", "LayerNorm.gamma"] the first in a name may be the second.
 *
 * * A stored tensor's "scale" names the tensor with one scale for each block of its numbers (FP8),
 * of as many rows and columns as the config's list "block" sets; it isn't there where nothing is
 * quantized. A "depthwise" one has [channels, 1, taps], of taps x channels in its variant. One
 * with "heads": "n_heads" has two axes for that of its heads: Flax's kernels of queries are
 * [d_model, n_heads, d_head], those behind the heads [n_heads, d_head, d_model], both "in,out".
 * With "apart": true each head is a matrix by itself, [n_heads, in, width].
 *
 * * A module's name is what answers call it: layers.{layer} (layers.{layer}.{half} of a layer with
 * two, layers.{layer}.mamba next to attention, layers.{layer}.cross of a text model that reads an
 * image there), stages.{layer}.{block} where widths change by stages, global.{index} of layers over
 * all tiles of an image, mtp.{mtp}, or encoder.{layer}.self, decoder.{layer}.self and
 * decoder.{layer}.cross; its stored tensors have their whole names. No
 * fact is read from a name: a model of two stacks gives each module and feed-forward tensor its
 * "stack", "encoder" or "decoder". An encoder sees its tokens once and caches nothing. With
 * "cross": true keys and values come from the other stack, so that the norm "before" it makes its
 * queries' input only. "uses" is how many layers one module works in where layers share it
 * (ALBERT). "rotary" is true (all of each head is rotated, dimension i with i + d_head/2, base
 * 10000), or an object: {"when": "not alibi", "width": "d_head/2", "pairs": "interleaved", "base":
 * "rope_theta", "scaling": ["rope_scaling"], "scaled": "not is_sliding[layer]"}. The config's rule
 * for long sequences is under the first key of "scaling" that is there, and holds where "scaled"
 * does. Scores are divided by the root of "score_divisor", of d_head by default; "1" leaves them as
 * they are. Where a config has a factor for them instead, "score_scale" names its key: {"key":
 * "attention_multiplier", "default": 1}.
 *
 * * "forward" defines how the tensors make a model that runs: catalog/forward.h.
 *
 * * A model of text and more has "components", each a family in an object of the config:
 *
 *       "components": {
 *         "text": {"config": "text_config", "family": "qwen3", "names": "language_model.",
 *                  "around": ["tie_word_embeddings"], "defaults": {"d_model": 4096}},
 *         "vision": {"config": "vision_config", "family": "siglip_vision", "names": "visual.",
 *                    "by_model_type": true}}
 *
 *   "config" is where its keys are: an object's key, or a list of which the first that is there
 *   counts; "" is the config itself. "by_model_type": the family is that of the object's
 *   model_type, and "family" is only its default; "by": ["version", "2.6=qwen2", "4=llama"]: it
 *   goes by that key of the object, which must have one of these values. "names" is the prefix of
 *   the names of its tensors ("head_names" before those of part head, "mtp_names" before those of a
 *   loop that is "apart" from 0 on, where they differ), "defaults" replaces defaults of its family,
 *   and what is "around" goes by the outer config if it is there. Of the text's symbols the outer
 *   file has the names that the text's family has; of the others' it has vision_d_model,
 *   audio_n_layers; and has_vision is 0 where the config has no such object. What is in no
 *   component's file is marked by "component" of a tensor: "projector". A family that is a
 *   component of others may itself be that of a config.
 *
 * * "gguf" is the same model in llama.cpp's files: its "architecture" there; "sizes", keys of the
 * metadata behind the architecture's name and formulas that give them, 0 for a key that the file
 * doesn't get; "numbers", keys and where the config has them; "tensors", names there and here; and
 * "scaling", the types of rope_scaling that llama.cpp runs. The family of those files names this
 * one in "hub", by their model_type. What else differs (a matrix' order, rotary pairs, norms with
 * an offset) the facts of the two families show. */
#pragma once

#include "catalog/catalog.h"
#include "catalog/forward.h"
#include "catalog/settings.h"

enum al_part {
	AL_PART_EMBEDDING,
	AL_PART_ATTENTION,
	AL_PART_FEED_FORWARD,
	AL_PART_NORM,
	AL_PART_OTHER,
	AL_PART_HEAD,
	AL_N_PARTS,
};
extern const char *const al_part_names[AL_N_PARTS];

/* ---- what a model of text and more is made of ---- */

enum al_component {
	AL_COMPONENT_TEXT,
	AL_COMPONENT_VISION,
	AL_COMPONENT_AUDIO,
	AL_COMPONENT_PROJECTOR,
	AL_COMPONENT_MTP, /* what is stored in addition to the model */
	AL_N_COMPONENTS,
};
extern const char *const al_component_names[AL_N_COMPONENTS];

/* Where in a config the keys of a component are. */
struct al_config_place {
	const char **objects; /* the first that is there counts; "" is the config itself */
	size_t n_objects;
	const char **around; /* keys that the outer config decides, where it has them */
	size_t n_around;
};

struct al_family_component {
	enum al_component component;
	const char *family; /* by_model_type the default, until a config's is known */
	bool by_model_type;
	const char **by; /* a key, and "value=family" for each that it may have; none: no key */
	size_t n_by;
	struct al_config_place place;
	const char *names, *head_names, *mtp_names; /* prefix those of its tensors */
	struct al_module_set *defaults; /* of the family's symbols */
	size_t n_defaults;
	const char *prefix; /* of its symbols: "vision_", "" of the text's */
	const char *has; /* "has_vision": the symbol of whether the config has it; NULL: always */
	struct al_family *of; /* private: until its items are those of the whole */
};

/* ---- config keys ---- */

enum al_config_type {
	AL_CONFIG_WHOLE, /* of at least 0 */
	AL_CONFIG_BOOLEAN, /* where the default is true or false; 1 or 0 */
	AL_CONFIG_WORD, /* "type": "word", for conditions: act == 'swiglu'; of a list of words
				 (architectures) the first; where the default is "true" or "false"
				 also true and false */
	AL_CONFIG_LIST, /* "type": "list": a whole number, word or boolean for each layer; a text
			   where its "words" are letters: a pattern, "MEM*" */
	AL_CONFIG_INDICES, /* "type": "indices": numbers of layers, counted from "first" (0); read
			      as a list with 1 for each that is named and 0 for the others; "3,5" is
			      [3, 5] */
	AL_CONFIG_SIZE, /* "type": "size": a whole number, or how many members an object or list
				 has (id2label) */
	AL_CONFIG_LAYERS, /* "type": "layers": a whole number, or how many entries a list or letters
			     a pattern has */
	AL_CONFIG_MILLIONTHS, /* "type": "millionths": a decimal of at most six places, times 10^6
			       */
	AL_CONFIG_ENTRIES, /* "type": "entries": how many entries a list has, 1 for what is none */
	AL_CONFIG_TIMES, /* "type": "times": a decimal by which the symbol "of" is multiplied,
			    rounded down */
	AL_CONFIG_GROUP, /* "type": "group": a whole number, or -1, a whole row, as 0 */
	AL_CONFIG_CONTEXT, /* "type": "context": a whole number; where the config extends it by
			      YaRN, the positions before times the factor if that is more */
	AL_N_CONFIG_TYPES,
};

/* A symbol and the key that gives it, or its formula alone; "a.b" is the key b of the object a, and
 * the list "a.*.b" the b of each object in the array a, or the value of "null" where it has none;
 * "a.=" is a where it isn't an object. A
 * default that is a formula also replaces null and "auto", as where the reference implementation
 * derives what is None; a plain number doesn't, but "null" may set the value of null: no window
 * is 0. Of a word any "null" makes null its default. */
struct al_config_key {
	const char *symbol;
	const char **keys; /* synonyms: the first that is there counts */
	size_t n_keys; /* 0: always the default */
	const struct al_config_place *place; /* NULL: the config itself */
	enum al_config_type type;
	const struct al_formula *fallback; /* NULL: required; a list's: one value a `layer` */
	const struct al_formula *null; /* NULL: null is refused, or replaced by a derived default */
	const char *word; /* a word's default, unchanged */
	const struct al_formula *length; /* a list's; n_layers by default */
	const struct al_formula *or_length; /* ... or this; NULL: no other */
	int64_t first; /* indices: the number of the first layer */
	const char *others; /* indices: the symbol of the layers that aren't these; NULL: any */
	const char
		*of; /* of times, the symbol; a list's "millionths": its items are as that type */
	bool or_number; /* a list's: a number is that of each layer */
	const char **words; /* a list's: worth 0, 1 ... in it, "4" also for 4; NULL: any item */
	size_t n_words;
};

/* ---- what a model holds ---- */

struct al_loop {
	const char *variable; /* counts from 0 */
	const struct al_formula *count;
	const struct al_formula *active; /* NULL: count */
};

struct al_loops {
	struct al_loop *items; /* [0 .. AL_FAMILY_LOOPS], the outermost first */
	size_t n;
};

enum al_order { AL_ORDER_OUT_IN, AL_ORDER_IN_OUT };

/* A run of rows of a fused matrix' output axis that belongs to one of the variant's tensors. */
struct al_fused {
	const char *tensor;
	const struct al_formula *width;
};

/* A stored tensor of a module: one of the variant's, or several fused. */
struct al_stored {
	const char *name;
	enum al_order order;
	const char *is; /* or, where NULL: */
	const struct al_formula *repeat; /* how often the run of parts comes */
	struct al_fused *parts;
	size_t n_parts;
	const struct al_formula *when; /* NULL: true */
	bool is_optional; /* a checkpoint may lack it */
	bool is_depthwise; /* [channels, 1, taps] */
	bool is_apart; /* each head is a matrix by itself; needs heads */
	const struct al_formula *heads; /* how many the axis of heads is cut into; NULL: it is one
					   axis */
	const char *scale; /* the tensor with a scale for each block of its numbers, which a
			      checkpoint may hold; NULL: none */
};

/* An option or symbol of the variant, and its value in this family. */
struct al_module_set {
	const char *symbol;
	const struct al_formula *value;
};

enum al_pairs {
	AL_PAIRS_HALVES, /* of a rotated width w, dimension i turns with i + w/2 */
	AL_PAIRS_INTERLEAVED, /* 2i with 2i + 1 */
};

/* Which dimensions of a head rotate with the position; only where is_rotary. */
struct al_rotary {
	const struct al_formula *when; /* NULL: true */
	const struct al_formula *width; /* of each head, from its first dimension; NULL: d_head */
	const struct al_formula *base; /* NULL: 10000 */
	const char **scaling; /* config keys; the first that is there counts */
	size_t n_scaling;
	const struct al_formula *scaled; /* NULL: true */
	enum al_pairs pairs;
};

enum al_layer_stack {
	AL_STACK_ENCODER,
	AL_STACK_DECODER,
	AL_STACK_ONLY, /* the model has one */
	AL_N_STACKS = AL_STACK_ONLY,
};

struct al_family_module {
	const char *name;
	enum al_component component;
	enum al_layer_stack stack;
	struct al_loops loops;
	const struct al_formula *when;
	const char *variant;
	struct al_module_set *set;
	size_t n_set;
	bool is_rotary, is_cross;
	struct al_rotary rotary;
	const struct al_formula *uses; /* NULL: 1 */
	const struct al_formula *score_divisor; /* NULL: d_head */
	struct al_config_number score_scale; /* 0: one over the root of score_divisor */
	struct al_stored *stored;
	size_t n_stored;
	const char *before; /* the module whose input it is, or NULL */
};

enum al_feed_forward_role {
	AL_FEED_UP,
	AL_FEED_GATE,
	AL_FEED_DOWN,
	AL_FEED_ROUTER,
	AL_FEED_NONE,
	AL_N_FEED_FORWARD_ROLES = AL_FEED_NONE,
};

enum al_pipeline_stage {
	AL_STAGE_FIRST,
	AL_STAGE_LAST,
	AL_STAGE_NOT_SAID,
	AL_N_STAGES = AL_STAGE_NOT_SAID
};

struct al_family_tensor {
	struct al_entry entry; /* name, shape, kind, count, active, when; a count means that many of
				      that shape, stacked before the first dimension */
	enum al_part part;
	enum al_component component;
	enum al_feed_forward_role role; /* of part feed_forward */
	enum al_layer_stack stack; /* of part feed_forward */
	enum al_pipeline_stage stage; /* of a norm outside of the layers */
	enum al_order order;
	struct al_loops loops;
	const char *tied_to; /* the tensor whose numbers these are: none of its own */
	const char **each; /* [n_each] behind the last dot of its name, "{expert}.gate_proj.weight":
			      a checkpoint may store these, of each that is stacked its rows in as
			      many equal parts */
	size_t n_each;
	int64_t packed; /* numbers in one stored element: 2 of 4 bits in a byte */
	bool is_optional;
	bool is_old; /* older checkpoints have it: known, and in no total */
	const char *before; /* the module whose input this norm makes, or NULL */
};

/* Iterations of the loop `variable` from `from` on are stored with the model, not part of it. */
struct al_extra {
	const char *name; /* "multi-token prediction" */
	const char *variable;
	const struct al_formula *from;
};

enum { AL_FAMILY_EXTRAS = 4 };

/* A tower's layers are all part of the model, whatever the text calls its own that aren't. */
bool al_component_has_extras(enum al_component component);

/* Of a model in llama.cpp's files. */
struct al_exchange_pair {
	const char *name, *of;
};

struct al_exchange_size {
	const char *name;
	const struct al_formula *value;
};

struct al_exchange_number {
	const char *name;
	struct al_config_number value;
};

struct al_exchange {
	const char *architecture;
	struct al_exchange_size *sizes;
	size_t n_sizes;
	struct al_exchange_number *numbers;
	size_t n_numbers;
	struct al_exchange_pair *tensors;
	size_t n_tensors;
	const char **scaling;
	size_t n_scaling;
};

/* A class of the reference implementation, as a config's "architectures" names it: which symbols
 * (that tensors of heads and poolers are of) have another value than 0 in it. */
struct al_architecture {
	const char *name;
	struct al_module_set *set;
	size_t n_set;
};

struct al_family {
	const char *name, *title, *source;
	const char *file; /* as the catalog finds it: a name, or a path */
	uint64_t hash; /* of its text */
	struct al_texts model_types;
	struct al_family_component *components; /* none: text alone */
	size_t n_components;
	struct al_config_key *config;
	size_t n_config;
	int64_t n_bare_norms; /* "bare_norms": norms without parameters in each layer, as wide as
				 the model; where there are some, one more behind the last layer */
	const char *class_name; /* before an architecture that begins with a star; or NULL */
	struct al_architecture *architectures; /* the first is taken where a config has none */
	size_t n_architectures;
	bool has_dropout; /* "dropout": its training drops out; symbol `dropout` */
	const char **prefixes;
	size_t n_prefixes;
	const char **spellings; /* [n_spellings]: in a name here, instead, in a name here ... */
	size_t n_spellings;
	struct al_family_module *modules;
	size_t n_modules;
	struct al_family_tensor *tensors;
	size_t n_tensors;
	struct al_extra *extras; /* [0 .. AL_FAMILY_EXTRAS] */
	size_t n_extras;
	const struct al_exchange *gguf; /* NULL: llama.cpp's names aren't known */
	struct al_exchange_pair *hub; /* of a family of its files: model_type, family */
	size_t n_hub;
	bool runs, is_encoder; /* "forward" is there, its own or its text's; its kind */
};

/* Does it have tensors with several numbers in one stored element? */
bool al_family_packs(const struct al_family *family);

/* Checks that a family gives every fact on which a model's numbers depend, that its variants exist,
 * and that it only names modules and tensors of its own, and tensors, options and symbols that they
 * define. `doc` is the family's file, for messages. Of built-in files tests check it. */
bool al_family_check(const struct al_family *family, const struct al_json *doc,
	struct al_catalog *catalog, struct al_error *err) AL_MUST_CHECK;

/* ---- a config ---- */

/* The symbols that a config gives, and the family's defaults for the others. A value that is
 * missing, null, negative, fractional or of another type: one line with the key, what was found
 * and what was expected. `origin` names the model. */
bool al_family_settings(const struct al_family *family, const struct al_json *doc,
	const struct al_item *config, const char *origin, struct al_settings *settings,
	struct al_error *err) AL_MUST_CHECK;

/* Gives symbols other whole numbers in a config.json, whose text it is: all else is unchanged, keys
 * and their order too. A key that isn't there comes behind that of the first of the symbols; a
 * symbol that the family reads from no key is left alone. */
struct al_text;
bool al_config_edit(const struct al_family *family, struct al_text *text,
	const struct al_binding *values, size_t n, struct al_error *err) AL_MUST_CHECK;

/* A config's architecture that the family, which knows others, doesn't know; or NULL. */
const char *al_family_unknown_architecture(const struct al_family *family,
	const struct al_json *doc, const struct al_item *config);

/* What a model gives: a preset's symbols; with a family, those that its config gives. What was
 * asked of the settings stays, and what the family derives follows it. */
bool al_model_settings(const struct al_model *model, struct al_catalog *catalog,
	struct al_settings *settings, struct al_error *err) AL_MUST_CHECK;

/* The sizes without which there is no model (width, heads, layers, vocabulary) that the config
 * leaves to the family's defaults: "hidden_size = 4096". */
size_t al_family_left_out(const struct al_family *family, const struct al_json *doc,
	const struct al_item *config, const struct al_settings *settings, struct al_arena *arena,
	const char *const **sizes);

/* Every key that the config leaves to the family, and what it is worth: "head_dim = 128"; of a list
 * the formula of a layer: "layer_types by mod(layer, 3) > 0". */
size_t al_family_defaults(const struct al_family *family, const struct al_json *doc,
	const struct al_item *config, const struct al_settings *settings, struct al_arena *arena,
	const char *const **defaults);

/* The config's keys that the family doesn't use, in their order. */
size_t al_family_ignored(const struct al_family *family, const struct al_item *config,
	struct al_arena *arena, const char *const **keys);
