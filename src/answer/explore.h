/* explore: the formulas of variants as data for the page that evaluates them. */
#pragma once

#include "answer/session.h"
#include "ledger/request/request.h"

struct al_explore {
	struct al_session *session;
	struct al_request *request; /* its variants are the page's */
	struct al_basis basis; /* the request's, of all attention of a model */
	struct al_settings settings; /* where the page begins */
	struct al_ledger **ledgers; /* of each variant alone, open */
};

/* Finds a start for symbols that have none, the first number that a published check of a variant
 * gives them, and adds the data as one JSON object without '<', so that a page can contain it.
 * src/report/page/explorer.js reads it:
 *
 *   model     what the page begins with
 *   per       "model" or "module": what numbers cover at first
 *   symbols   {name, title, unit, default, start}; default: a formula's place, or null
 *   formulas  [source, postfix]; lines name them by their places
 *   times     how many of what is shared over module, layer, group, model all attention holds;
 *             null: one
 *   whole     formulas that a shape with sense makes whole: they are shown, not enforced
 *   dtypes    [name, bytes, numbers that take them]
 *   dtype     the place of that of the cache at first
 *   variants  {name, title, source, symbols: {name: meaning}, options: [[name, 0 or 1, is fixed]],
 *             fixed: {symbol: value}, tensors, cache, products: lines, or null where they aren't
 *             declared}
 *
 * A line is [name, dims, shared, count, when, tokens, per, dtype, inner] without what is null at
 * its end: `shared` counts from module, `per` is token, source_token or sequence. */
bool al_explore_add_data(struct al_explore *e, struct al_text *out,
	struct al_error *err) AL_MUST_CHECK;
