/* What a compressed checkpoint says of its modules' shapes, and its tensors read by them. */
#include "documents/record.h"
#include "fuzz.h"

/* Reading all families takes its time, which is no input's. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	record_begin_once();
	return 0;
}

int fuzz_input(const uint8_t *data, size_t size)
{
	struct al_error err = {0};

	record_begin_once();
	if (!parse_shapes((const char *)data, size, &err))
		FUZZ_CHECK(err.status == AL_EINPUT && *err.message && !strchr(err.message, '\n'));
	return 0;
}
