/* What a device holds at one size, by state. */
#include "answer/fit.h"

static bool take_training(struct al_fit *f, struct al_error *err)
{
	int64_t index;

	AL_STAGE_MEMORY(stage);
	bool ok = al_ledger_train_largest(f->ledger, &f->training, &index, &stage, err);
	for (int i = 0; ok && i < AL_N_TRAINING_STATES; i++)
		al_stage_memory_sum(&stage, (enum al_memory_state)i, f->states[i]);
	if (ok)
		al_exact_add(f->states[AL_STATE_WORKING], stage.reserved);
	f->is_reserved = mpq_sgn(stage.reserved) > 0;
	return ok;
}

/* An engine whose share is of weights and cache holds all else in the rest, as far as it goes. */
static void leave_to_rest(struct al_fit *f)
{
	mpq_ptr held = f->states[AL_STATE_ACTIVATIONS], overhead = f->states[AL_STATE_OVERHEAD];

	al_exact_add(held, overhead);
	mpq_set_ui(overhead, 0, 1);
	mpq_sub(held, held, f->rest);
	if (mpq_sgn(held) < 0)
		mpq_set_ui(held, 0, 1);
}

/* Where states have a pool, it is a part of the cache's, if one sequence needs less. */
static void fill_pool(const struct al_fit *f)
{
	mpq_ptr states = f->states[AL_STATE_STATES];

	AL_EXACT(pool);
	mpq_mul(pool, f->pool, f->states[AL_STATE_CACHE]);
	if (mpq_sgn(states) > 0 && mpq_cmp(states, pool) < 0)
		mpq_set(states, pool);
}

/* An engine whose share is of what all else leaves keeps as much of it free as the cache's bytes
 * ask for: there activations have their place, or beyond it. */
static void leave_free(struct al_fit *f, bool holds_activations)
{
	AL_EXACT(cache);
	AL_EXACT(open);
	mpq_set(cache, f->states[AL_STATE_CACHE]);
	if (holds_activations)
		al_exact_add(cache, f->states[AL_STATE_STATES]);
	mpq_div(open, cache, f->share);
	mpq_sub(open, open, cache);
	if (holds_activations)
		mpq_sub(open, open, f->states[AL_STATE_ACTIVATIONS]);
	if (mpq_sgn(open) > 0)
		al_exact_add(f->states[AL_STATE_OVERHEAD], open);
}

static bool take_inference(struct al_fit *f, struct al_error *err)
{
	AL_ENDS(al_inference_rows_finish) struct al_inference_row rows[AL_N_STATES];

	al_inference_rows_init(rows);
	bool ok = al_ledger_infer_largest(f->ledger, &f->inference, rows, err);
	for (int i = 0; ok && i < AL_N_STATES; i++)
		mpq_set(f->states[i], rows[i].bytes);
	fill_pool(f);
	const enum al_engine_covers covers = f->request->engine.engine->covers;
	if (covers == AL_COVERS_STATIC)
		leave_to_rest(f);
	if (covers >= AL_COVERS_CACHE)
		leave_free(f, covers == AL_COVERS_FREE);
	return ok;
}

/* A device's memory use in whole bytes: a quantization block may end within a byte. */
bool al_fit_hold(struct al_fit *f, mpq_t out, struct al_error *err)
{
	if (!(f->is_inference ? take_inference : take_training)(f, err))
		return false;
	mpq_set_ui(out, 0, 1);
	for (int i = 0; i < AL_N_STATES; i++)
		al_exact_add(out, f->states[i]);
	mpz_cdiv_q(mpq_numref(out), mpq_numref(out), mpq_denref(out));
	mpz_set_ui(mpq_denref(out), 1);
	return true;
}
