/* attnledger: counts and audits attention. This program answers what needs exact numbers alone, and
 * leaves the rest to the full one. */
#include "formats/format.h"
#include "commands/program.h"

#define HAS_LIGHT(name) &al_command_##name
#define HAS_FULL(name) NULL
#define COMMAND(name, program, group, summary) HAS_##program(name),

#define FORMAT_LIGHT(name) &al_format_##name,
#define FORMAT_FULL(name)
#define FORMAT(name, program) FORMAT_##program(name)

/* libraries that unpack take longer to load than most answers to count */
const struct al_format *const al_formats[] = {AL_FORMATS(FORMAT) NULL};

int main(int argc, char **argv)
{
	static const struct al_command *const commands[] = {COMMANDS(COMMAND)};
	static const struct al_program light = {.is_light = true, .commands = commands};

	return al_command_line(argc, argv, &light);
}
