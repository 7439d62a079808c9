// Runs the recipes of this folder with the published packages against a demo server. Code, commands, configuration and
// expected output are taken from the pages.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createPublicClient, forkEnvironmentConfig } from '@polymarket/client'
import { parse } from 'yaml'
import { type OpenapiDocument, openapi } from '#api/contract/openapi.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { isLongRun } from '#test/long.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const modules = join(root, 'node_modules')
const read = (page: string): string => readFileSync(join(import.meta.dirname, page), 'utf8')
const pages = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.md') && name !== 'README.md')

interface Block {
  readonly language: string
  readonly text: string
}

const blocksOf = (page: string): Block[] =>
  [...read(page).matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({ language, text }))

const find = (blocks: readonly Block[], ...languages: string[]): string | undefined =>
  blocks.find(({ language }) => languages.includes(language))?.text

/** Rows of the table of calls. */
const callsOf = (page: string): { call: string; result: string }[] =>
  [...read(page).matchAll(/^\| `((?:api|client)\..+)` \| (\w+) \|$/gm)].map(([, call = '', result = '']) => ({
    call,
    result,
  }))

let demo: DemoServer
let folder = ''

before(async () => {
  // However fast the machine is, no limit is reached. The other recipes do not use what rated-python.md configures.
  const configuration = parse(find(blocksOf('rated-python.md'), 'yaml') ?? '') as object
  demo = await openDemoServer({ server: { port: 0, anonymousPerSecond: 10_000 }, ...configuration })
  folder = await mkdtemp(join(tmpdir(), 'tetrad-recipes-'))
  await symlink(modules, join(folder, 'node_modules'))
  // openapi-typescript needs a compiler of version 5, which a project of its users has.
  const loader = `import { registerHooks } from 'node:module'
    registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5.9' : name, context) })`
  await writeFile(join(folder, 'typescript-5.mjs'), loader)
})
after(async () => {
  await demo[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

const clientFile = pathToFileURL(join(root, 'api/client/client.ts')).href

const adapt = (text: string): string =>
  text.replaceAll('http://127.0.0.1:8080', demo.url).replaceAll("'@tetrad/api'", `'${clientFile}'`)

/** Prints the result of each call in the table of a page. */
const codeOfCalls = (page: string): string =>
  callsOf(page)
    .map(
      ({
        call,
      }) => `;console.log('result', await Promise.resolve().then(() => ${call}).then((reply) => (reply === null ? 'null' : 'answers'),
        (error) => /\\b4\\d\\d\\b/.exec(\`\${error.status} \${error.message}\`)?.[0] ?? 'error'))`,
    )
    .join('\n')

/** Writes the code of a page and the calls of its table into the folder, and runs the commands of the page. */
async function runRecipe(page: string): Promise<string> {
  const blocks = blocksOf(page)
  const [, file] = /^`(recipe\.\w+)`:$/m.exec(read(page)) ?? []
  const code = find(blocks, 'js', 'ts')
  if (file && code) await writeFile(join(folder, file), adapt(code + codeOfCalls(page)))
  const commands = blocks.filter(({ language, text }) => language === 'sh' && !text.startsWith('npm install'))
  const script = commands.map(({ text }) => adapt(text)).join('')
  const env = {
    ...{ HOME: folder, TETRAD_KEY: await demo.keyFor('enterprise'), NO_COLOR: '1' },
    PATH: [join(modules, '.bin'), process.env.PATH].join(delimiter),
    // Compiling the packages takes more CPU time than most recipes.
    ...(process.env.NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
    ...(script.includes('openapi-typescript') && { NODE_OPTIONS: `--import ${join(folder, 'typescript-5.mjs')}` }),
  }
  // What npx runs is installed.
  const { stdout } = await run('bash', ['-ec', script.replaceAll('npx ', '')], { cwd: folder, env })
  return stdout
}

const outputs = new Map<string, Promise<string>>()
const resultLine = /^result (\w+)\n/gm

/** What the code of a page prints, and the results of its calls after it. It runs once. */
const outputOf = (page: string): Promise<string> => outputs.getOrInsertComputed(page, () => runRecipe(page))

describe('recipes', () => {
  for (const page of pages) {
    const expected = find(blocksOf(page), 'text')
    if (expected !== undefined)
      test(`${page}: the code prints what the page shows`, async () => {
        const stdout = await outputOf(page)
        assert.ok(stdout.replaceAll(resultLine, '').endsWith(expected), stdout)
      })

    const calls = callsOf(page)
    if (calls.length > 0)
      test(`${page}: every call has the result that the page shows`, async () => {
        const results = [...(await outputOf(page)).matchAll(resultLine)].map(([, result]) => result)
        assert.deepEqual(
          calls.map(({ call }, at) => ({ call, result: results[at] })),
          calls,
        )
      })
  }

  test('openapi-fetch.md: the code matches the types of the document', async () => {
    const options = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions', '--module', 'nodenext']
    // The compiler of the page needs several times the CPU time of the newest.
    const compiler = join(modules, isLongRun ? 'typescript-5.9' : 'typescript', 'bin/tsc')
    // The commands of the page write the types.
    await outputOf('openapi-fetch.md')
    const code = find(blocksOf('openapi-fetch.md'), 'ts') ?? ''
    await writeFile(join(folder, 'right.mts'), code)
    await writeFile(join(folder, 'wrong.mts'), code.replace('market?.question', 'market?.answer'))
    const args = [compiler, ...options, '--types', 'node', 'right.mts', 'wrong.mts']
    const { stdout } = await run(process.execPath, args, { cwd: folder }).catch((error: { stdout: string }) => error)
    assert.deepEqual(stdout.match(/^\w+\.mts/gm), ['wrong.mts'], stdout)
    assert.match(stdout, /'answer'/)
  })

  test('pages name the versions that were tested', () => {
    const named = pages.flatMap((page) => [...read(page).matchAll(/ ((?:@[\w-]+\/)?[\w-]+)@(\d+\.\d+\.\d+)/g)])
    assert.ok(named.length >= 7, `${named.length} versions`)
    for (const [, name = '', version = ''] of named) {
      const installed = name === 'typescript' ? 'typescript-5.9' : name
      const manifest = JSON.parse(readFileSync(join(modules, installed, 'package.json'), 'utf8'))
      assert.equal(manifest.version, version, name)
    }
  })

  test('the overview lists every page', () => {
    const listed = [...read('README.md').matchAll(/^\| \[.+\]\(([\w-]+\.md)\)/gm)].map(([, name]) => name)
    assert.deepEqual(listed.sort(), pages)
  })
})

describe('@polymarket/client', () => {
  const client = () =>
    createPublicClient({ environment: forkEnvironmentConfig({ name: 'test', gamma: { rest: demo.url } }) })

  test('all markets and events of the demo match its schema', async () => {
    for (const closed of [false, true]) {
      const ids: string[] = []
      for await (const page of client().listMarkets({ closed, pageSize: 100 }))
        ids.push(...page.items.map(({ id }) => id))
      const listed = (await (await fetch(`${demo.url}/markets?limit=500&closed=${closed}`)).json()) as { id: string }[]
      assert.ok(listed.length > 0)
      assert.deepEqual(ids, listed.map(({ id }) => id)) // biome-ignore format: one case
      for await (const page of client().listEvents({ closed, pageSize: 50 })) assert.ok(page.items.length > 0)
    }
  })
})

describe('rated-python', () => {
  test('its requests work with the aliases of the page', async () => {
    const headers = { authorization: `Bearer ${demo.key}`, 'x-rated-network': 'mainnet' }
    const page = read('rated-python.md')
    const rows = [...page.matchAll(/^\| `eth\..+` \| `(GET|POST) (\S+)` \| (\w+) \|$/gm)]
    assert.equal(rows.length, page.match(/^\| `/gm)?.length)
    for (const [, method = '', path = '', result] of rows) {
      const { status } = await fetch(demo.url + path, { method, headers })
      assert.equal(status, result === 'answers' ? 200 : 404, path)
    }
    const other = { ...headers, 'x-rated-network': 'no-such-network' }
    assert.equal((await fetch(`${demo.url}/v0/eth/validators/12`, { headers: other })).status, 400)
    const metadata = (await (await fetch(`${demo.url}/v0/eth/validators/12`, { headers })).json()) as object
    assert.ok('pool' in metadata && !('subpool' in metadata))
  })
})

interface Collection {
  readonly variable: readonly { readonly key: string; readonly value: string }[]
  readonly item: readonly Item[]
}
interface Item {
  readonly item?: readonly Item[]
  readonly request?: { readonly method: string; readonly url: { readonly path: readonly string[] } }
}
interface Conversion {
  readonly result: boolean
  readonly reason?: string
  readonly output: readonly { readonly data: Collection }[]
}
interface Converter {
  convert(input: object, options: object, done: (error: Error | null, conversion: Conversion) => void): void
}

describe('Postman', () => {
  const converter: Converter = createRequire(import.meta.url)('openapi-to-postmanv2')
  const convert = (document: OpenapiDocument) =>
    new Promise<Conversion>((resolve, reject) => {
      const input = { type: 'string', data: JSON.stringify(document) }
      converter.convert(input, {}, (error, conversion) => (error ? reject(error) : resolve(conversion)))
    })
  const requestsIn = (items: readonly Item[]): Item['request'][] =>
    items.flatMap(({ item, request }) => (item ? requestsIn(item) : [request]))

  test('the import has a request for every path, and the URL of the server as baseUrl', async () => {
    const document = openapi({ serverUrl: 'https://data.example.net' })
    const { result, reason, output } = await convert(document)
    assert.ok(result, reason ?? 'not converted')
    const { variable, item } = output[0]?.data ?? assert.fail('no collection')
    assert.equal(variable.find(({ key }) => key === 'baseUrl')?.value, 'https://data.example.net')
    // A path with two methods has two requests.
    const paths = new Set(requestsIn(item).map((request) => `/${request?.url.path.join('/')}`))
    const expected = Object.keys(document.paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'))
    assert.deepEqual([...paths].sort(), expected.sort())
  })
})
