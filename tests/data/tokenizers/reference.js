// Writes NAME.ids beside each NAME.json of this folder: the ids that the reference implementation
// of tokenizers gives for each line of lines.txt, without padding and truncation. Needs its binding
// for Node, the package "tokenizers"; the tests don't.
const fs = require("fs");
const path = require("path");
const { Tokenizer } = require("tokenizers");

const lines = fs.readFileSync(path.join(__dirname, "lines.txt"), "utf8").split("\n").slice(0, -1);

async function write(name) {
	const json = JSON.parse(fs.readFileSync(path.join(__dirname, name)));
	const tokenizer = Tokenizer.fromString(
		JSON.stringify({ ...json, padding: null, truncation: null }));
	const ids = [];
	for (const line of lines)
		ids.push((await tokenizer.encode(line)).getIds().join(" ") + "\n");
	fs.writeFileSync(path.join(__dirname, name.replace(/json$/, "ids")), ids.join(""));
}

for (const name of fs.readdirSync(__dirname).filter((name) => name.endsWith(".json")))
	write(name);
