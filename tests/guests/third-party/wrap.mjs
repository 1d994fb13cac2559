import { readFileSync, writeFileSync } from 'node:fs';
import { componentEmbed, componentNew } from '@bytecodealliance/jco';
const [core, wit, out] = process.argv.slice(2);
const embedded = await componentEmbed({ binary: new Uint8Array(readFileSync(core)), witSource: readFileSync(wit, 'utf8'), stringEncoding: 'utf8' });
writeFileSync(out, await componentNew(embedded, []));
