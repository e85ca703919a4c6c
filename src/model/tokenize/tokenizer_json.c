/* tokenizer.json: added tokens are found, the text normalized and split, a model makes tokens of
 * the pieces, and some come before and after them. All of its keys are known here, and one that
 * isn't is refused, since it may change what comes out. "truncation" and "padding" are settings of
 * batches, "decoder" is the way back: sequences are taken as long as they are.
 *= huggingface/tokenizers, tokenizers/src/tokenizer */
#include "model/tokenize/internal.h"

/* Steps of one kind; added tokens go through all of them as well. */
static bool read_steps(struct al_tokenizer_reader *r, const struct al_item *node,
	const struct al_part_kind *kind, struct al_text_steps *steps, struct al_error *err)
{
	r->steps = steps;
	return al_part_read(r, node, kind, err);
}

struct file {
	const struct al_item *model, *normalizer, *added, *pre_tokenizer, *post_processor;
};

static bool read_file(struct al_tokenizer_reader *r, struct al_error *err)
{
	static const struct al_field fields[] = {
		AL_IGNORED("version"),
		AL_IGNORED("truncation"),
		AL_IGNORED("padding"),
		AL_IGNORED("decoder"),
		{AL_KEY("model", NODE, offsetof(struct file, model)), .is_required = true},
		{AL_KEY("normalizer", NODE, offsetof(struct file, normalizer))},
		{AL_KEY("added_tokens", NODE, offsetof(struct file, added))},
		{AL_KEY("pre_tokenizer", NODE, offsetof(struct file, pre_tokenizer))},
		{AL_KEY("post_processor", NODE, offsetof(struct file, post_processor))},
	};
	static const struct al_record record = {.fields = AL_FIELDS(fields)};
	struct al_pipeline *p = r->pipeline;
	struct file file = {0};

	/* in this order: added tokens are normalized and looked up in the vocabulary */
	return al_json_expect(r->doc, r->doc->root, AL_JSON_OBJECT, err)
		&& al_record_read(&r->source, &record, r->doc->root, &file, err)
		&& al_token_model_read(r, file.model, err)
		&& read_steps(r, file.normalizer, &al_normalizers, &p->normalizer, err)
		&& (!file.added || al_added_read(r, file.added, err))
		&& read_steps(r, file.pre_tokenizer, &al_pre_tokenizers, &p->pre_tokenizer, err)
		&& al_part_read(r, file.post_processor, &al_post_processors, err);
}

bool al_tokenizer_parse_json(struct al_tokenizer *tokenizer, const char *path, const char *text,
	size_t n, struct al_error *err)
{
	AL_JSON(doc);

	if (!al_json_parse(&doc, path, text, n, err))
		return false;
	struct al_tokenizer_reader r = {.pipeline = al_pipeline_init(tokenizer, n), .doc = &doc};
	r.arena = &tokenizer->arena;
	r.source = (struct al_record_source){r.arena, &doc, &r};
	bool ok = read_file(&r, err);
	if (ok && !al_pipeline_finish(r.pipeline, r.arena, err))
		ok = al_in(err, "%s", path);
	if (!ok)
		al_tokenizer_finish(tokenizer);
	return ok;
}
