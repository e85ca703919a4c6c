/* The heads' bilinear forms W_Q^(i) W_K^(i)T and W_V^(i) W_O^(i) compared without forming them:
 * inner products through d_head x d_head Grams.
 *
 * Where there are biases the forms are those of [x, 1]: [W_Q; b_Q] W_K^T is the score of a query
 * and a key but for what is the same for all keys, which a softmax takes away; keys keep their bias
 * under rotary positions alone, where it isn't. */
#pragma once

#include "audit/triangles.h"
#include "base/base.h"

struct al_attention;

enum al_form { AL_FORM_QK, AL_FORM_OV, AL_N_FORMS };
extern const char *const al_form_names[AL_N_FORMS]; /* "qk", "ov" */

bool al_has_form(const struct al_heads *heads, enum al_form form);

/* The cosine of two forms from their product and squared norms; NAN where one of them is zero. */
double al_cosine(double inner, double squared_a, double squared_b);

/* out[i][j] = <form of a's head i, form of b's head j>_F, [a->n_heads][b->n_heads]. The modules
 * read and write spaces of the same size. */
bool al_form_inner(struct al_scratch *scratch, const struct al_heads *a, const struct al_heads *b,
	enum al_form form, struct al_matrix *out, struct al_error *err) AL_MUST_CHECK;

/* The same, and of a's own scores with `rotary` positions (else NULL) what al_rotary_inner finds,
 * by the same Gram matrices: they take all the time. */
bool al_form_inner_rotary(struct al_scratch *scratch, const struct al_heads *a,
	const struct al_heads *b, enum al_form form, const struct al_attention *rotary,
	struct al_matrix *out, struct al_matrix *all, struct al_error *err) AL_MUST_CHECK;

/* What biases add to the squared norm of a head's form: with A and B without biases and a, b these,
 * ||[A; a] [B; b]^T||^2 - ||A B^T||^2 = ||B a^T||^2 + ||A b^T||^2 + (a b^T)^2. 0 without biases. */
bool al_form_bias(const struct al_triangles *triangles, const struct al_heads *heads,
	enum al_form form, size_t head, double *squared, struct al_error *err) AL_MUST_CHECK;

/* The mean entry of each head's form, [n_heads]. */
bool al_form_means(const struct al_heads *heads, enum al_form form, double *means,
	struct al_error *err) AL_MUST_CHECK;

/* Entries of a form: rows x columns. */
double al_form_entries(const struct al_heads *heads, enum al_form form);
