// `npm run docs`: writes the generated pages. test/docs.test.ts fails if one is out of date.
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { commandsPage } from './commands.ts'
import { configurationPage, configurationSchema } from './configuration.ts'
import { endpointLimits, endpointPages } from './endpoints.ts'

/** Text by path under docs/. */
export async function generatedPages(): Promise<Record<string, string>> {
  return {
    'commands.md': await commandsPage(),
    'configuration.md': configurationPage(),
    'tetrad.schema.json': `${JSON.stringify(configurationSchema(), null, 2)}\n`,
    'behaviour/http.md': await httpPage(),
    ...Object.fromEntries(Object.entries(endpointPages()).map(([name, text]) => [`endpoints/${name}`, text])),
  }
}

const limitsTable = /^\| endpoint \| calls per second \|\n\|[ -]+\|[ -]+\|\n(?:\|.*\n)+/m

/** The page is written by hand, except its table of limits. */
async function httpPage(): Promise<string> {
  const page = await readFile(join(import.meta.dirname, 'behaviour/http.md'), 'utf8')
  if (!limitsTable.test(page)) throw new Error('behaviour/http.md has no table of limits')
  return page.replace(limitsTable, () => `${endpointLimits()}\n`)
}

async function build(): Promise<void> {
  const pages = await generatedPages()
  const folder = join(import.meta.dirname, 'endpoints')
  await mkdir(folder, { recursive: true })
  for (const name of await readdir(folder)) {
    if (!(`endpoints/${name}` in pages)) await rm(join(folder, name))
  }
  for (const [path, text] of Object.entries(pages)) await writeFile(join(import.meta.dirname, path), text)
  console.log(`wrote ${Object.keys(pages).length} pages`)
}

if (import.meta.main) await build()
