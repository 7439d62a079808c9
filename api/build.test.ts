// Tests the built npm package as a user would: installed in a separate folder, with every Node on this machine.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { builtApi } from '../test/api-build.ts'
import { isLongRun } from '../test/long.ts'
import { serveScript } from '../test/scripted-server.ts'
import { openapi } from './contract/openapi.ts'
import { allRoutes } from './contract/routes.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
let home = ''
let installed = ''

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'tetrad-api-'))
  installed = join(home, 'node_modules/@tetrad/api')
  await mkdir(installed, { recursive: true })
  await cp(join(import.meta.dirname, 'package.json'), join(installed, 'package.json'))
  await cp(await builtApi(), join(installed, 'dist'), { recursive: true })
  for (const name of ['ethers', 'viem']) {
    await symlink(join(root, 'node_modules', name), join(home, 'node_modules', name))
  }
  await writeFile(join(home, 'package.json'), '{"type":"module"}')
})

after(() => rm(home, { recursive: true, force: true }))

/** The Node that runs this test, and the one in PATH if it differs. */
async function nodes(): Promise<string[]> {
  const found = [process.execPath]
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    if (folder.includes('node_modules')) continue
    const version = await run(join(folder, 'node'), ['--version']).catch(() => undefined)
    if (version) return [...found, join(folder, 'node')]
  }
  return found
}

/** All files that an import of this file loads, and all imports that are not files of the package. */
async function graph(path: string, files = new Set<string>(), foreign = new Set<string>()) {
  if (files.has(path)) return { files, foreign }
  files.add(path)
  const text = await readFile(path, 'utf8')
  for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?['"]([^'"]+)['"]/g)) {
    if (name.startsWith('.')) await graph(join(dirname(path), name), files, foreign)
    else foreign.add(name)
  }
  return { files, foreign }
}

const script = `
  import { createClient, FxError, signable } from '@tetrad/api'
  const client = createClient({ baseUrl: process.argv[2], key: 'tetrad:a:b', retries: 1, sleep: async () => {} })
  const days = []
  for await (const { day, earnings } of client.validators.aggregateEffectiveness({ indices: [1] }).records()) days.push(day, String(earnings))
  const failed = await client.fx.createQuote({}).catch((error) => error)
  const late = await client.markets.bySlug({ slug: 'a' }, { timeoutMs: 50, retries: 0 }).catch((error) => error)
  console.log(JSON.stringify({ days, code: failed instanceof FxError && failed.code, late: late.reason, signable: typeof signable }))
`

describe('the built client', () => {
  test('imports only its own files: no schema library, no Node module', async () => {
    const { files, foreign } = await graph(join(installed, 'dist/client/client.js'))
    assert.deepEqual([...foreign], [])
    assert.ok(files.size >= 6, `${files.size} files`)
    assert.ok(![...files].some((path) => /kit|contract\.js|wire/.test(path.slice(installed.length))))
  })

  test('reads pages, reports errors and times out with every Node of this machine', async (t) => {
    await writeFile(join(home, 'use.js'), script)
    for (const node of await nodes()) {
      await using server = await serveScript(
        { status: 500 },
        { body: '{"data":[{"day":2,"earnings":12345678901234567890}],"next":"/v0/x?from=1"}' },
        { body: '{"data":[{"day":1,"earnings":-7}],"next":null}' },
        { status: 400, body: { code: 2, message: 'no' } },
        { instead: 'hang' },
      )
      const { stdout } = await run(node, [join(home, 'use.js'), server.url])
      const expected = { days: [2, '12345678901234567890', 1, '-7'], code: 2, late: 'timeout', signable: 'function' }
      assert.deepEqual(JSON.parse(stdout), expected, node)
      t.diagnostic(`ran under Node ${(await run(node, ['--version'])).stdout.trim()}`)
    }
  })
})

/** The TypeScript examples of all pages that use the client. */
function findExamples(): string[] {
  const pages = globSync(['README.md', 'api/README.md', 'docs/**/*.md'], { cwd: root }).sort()
  const blocks = pages.flatMap((path) => [...readFileSync(join(root, path), 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)])
  const found = blocks.map(([, code = '']) => code).filter((code) => code.includes("'@tetrad/api'"))
  assert.ok(found.length >= 40, `${found.length} examples`)
  return found
}

/** What the packages that `typescript` and its aliases in package.json install are called here. */
const compilers = { '5.4': 'typescript-5.4', '5.9': 'typescript-5.9', '7': 'typescript' } as const
type CompilerVersion = keyof typeof compilers

interface CompilerOptions {
  readonly version?: CompilerVersion
  readonly resolution?: 'nodenext' | 'bundler'
  readonly skipLibCheck?: boolean
  readonly allowImportingTsExtensions?: boolean
}

/** Messages of a compiler with its strictest settings. */
async function compile(
  name: string,
  texts: readonly string[],
  { version = '7', resolution = 'nodenext', ...others }: CompilerOptions = {},
): Promise<string> {
  const files = texts.map((_, at) => `${name}-${at}.ts`)
  for (const [at, text] of texts.entries()) await writeFile(join(home, files[at] as string), text)
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true },
    ...{ target: 'es2022', lib: ['es2022', 'dom'], types: [] },
    // The compiler's own declarations: to check them takes half of its CPU time.
    skipDefaultLibCheck: true,
    ...{ module: resolution === 'nodenext' ? 'nodenext' : 'esnext', moduleResolution: resolution },
    ...others,
  }
  const project = join(home, `${name}.json`)
  await writeFile(project, JSON.stringify({ compilerOptions, files }))
  const compiler = fileURLToPath(import.meta.resolve(`${compilers[version]}/package.json`))
  const args = [join(dirname(compiler), 'bin/tsc'), '-p', project, ...(version === '7' ? ['--singleThreaded'] : [])]
  const { stdout } = await run(process.execPath, args, { cwd: home }).catch((error: { stdout: string }) => error)
  return stdout
}

/** Every combination in the long run, otherwise the oldest compiler and the newest. */
const combinations = (['5.4', '5.9', '7'] as const)
  .flatMap((version) => (['nodenext', 'bundler'] as const).map((resolution) => ({ version, resolution })))
  .flatMap((options) => [true, false].map((skipLibCheck) => ({ ...options, skipLibCheck })))
  .filter(
    ({ version, resolution, skipLibCheck }) =>
      isLongRun ||
      (version === '5.4' && resolution === 'nodenext' && !skipLibCheck) ||
      (version === '7' && resolution === 'bundler' && skipLibCheck),
  )

/** Instead of `@types/node`, which does not support every compiler. */
const declareNode = (code: string): string =>
  code.includes('process.')
    ? `declare const process: { readonly env: { readonly [name: string]: string | undefined } }\n${code}`
    : code

const calls = `
  import { createClient, FxError } from '@tetrad/api'
  import type { Market } from '@tetrad/api'
  import { contract } from '@tetrad/api/contract'
  import { openapi } from '@tetrad/api/openapi'
  import { parseJson } from '@tetrad/api/json'
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', key: 'k' })
  const market: Market = await client.markets.bySlug({ slug: 'a' })
  const question: string | undefined = market.question
  const quote = await client.fx.createQuote({ from: { currency: 'USDC', amount: '1' }, to: { currency: 'EURC' }, tenor: 'instant' })
  const fee: string = quote.fee
  for await (const record of client.validators.aggregateEffectiveness({ indices: [1], from: 12 }).records()) {
    const earnings: number | bigint | null | undefined = record.earnings
    console.log(earnings, question, fee, FxError)
  }
  await client.explorer.labelListV1()
  console.log(contract['markets.bySlug'].path, openapi().openapi, parseJson('1'))
  // @ts-expect-error: a slug is needed
  await client.markets.bySlug({})
  // @ts-expect-error: not a tenor
  await client.fx.createQuote({ from: { currency: 'USDC' }, to: { currency: 'EURC' }, tenor: 'weekly' })
  // @ts-expect-error: no such endpoint
  await client.markets.byName({})
  // What may be left out may also be undefined: options, inputs, and members of inputs.
  const unset = undefined as string | undefined
  const none = { retries: undefined, timeoutMs: undefined, signal: undefined, onResponse: undefined }
  createClient({ baseUrl: unset, key: unset, baseUrls: { fx: unset }, waitMaxMs: undefined, fetch: undefined, ...none })
  await client.fx.createQuote({ from: { currency: 'USDC', amount: unset }, to: { currency: 'EURC', amount: unset },
    tenor: 'instant', type: undefined, recipientAddress: unset, idempotencyKey: unset }, none)
  client.validators.effectiveness({ validator_index_or_pubkey: 12, limit: undefined }, none).records({ pagesMax: undefined })
  const { reply, meta } = await client.call('markets.byId', { id: '1' }).withMeta()
  const coverage: string | undefined = meta.coverage
  for await (const { record, meta: ofPage } of client.markets.tags().records().withMeta()) console.log(record.slug, ofPage.asOf, reply.slug, coverage)
  // @ts-expect-error: no pages
  client.markets.bySlug({ slug: 'a' }).pages()
  client.markets.watchChanges({ slugs: undefined }, { signal: undefined, failuresMax: undefined, idleMs: undefined })
  // @ts-expect-error: what is needed must be there
  await client.markets.bySlug({ slug: unset })
`

/** Fails to compile for an endpoint whose published types are not those that the schemas have in the source. */
const comparison = (): string => `
  import type { InputOf as SourceInput, ReplyOf as SourceReply } from '${join(import.meta.dirname, 'client/calls.ts')}'
  import type { InputOf, ReplyOf } from '@tetrad/api'
  // Optional members that only one type has are not found by an assignment, so the names are compared as well.
  type Names<T> = T extends readonly (infer Item)[]
    ? { items: Names<Item> }
    : T extends object
      ? { [K in keyof T]-?: Names<Exclude<T[K], undefined>> }
      : 'value'
  type Assignable<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
  type Same<A, B> = [Assignable<A, B>, Assignable<Names<A>, Names<B>>]
  ${Object.keys(allRoutes)
    .flatMap((id) => [`Same<SourceInput<'${id}'>, InputOf<'${id}'>>`, `Same<SourceReply<'${id}'>, ReplyOf<'${id}'>>`])
    .map((type) => `;[true, true] satisfies ${type}`)
    .join('\n')}
`

describe('the built package', () => {
  test('exports the contract and the OpenAPI document without any other package', async () => {
    const code = `
      import { contract } from '@tetrad/api/contract'
      import { openapi } from '@tetrad/api/openapi'
      import { parseJson } from '@tetrad/api/json'
      console.log(Object.keys(contract).length, Object.keys(openapi().paths).length, String(parseJson('9007199254740993')))
    `
    await writeFile(join(home, 'rest.js'), code)
    for (const node of await nodes()) {
      const { stdout } = await run(node, [join(home, 'rest.js')])
      assert.equal(stdout.trim(), `8 ${Object.keys(openapi().paths).length} 9007199254740993`, node)
    }
  })

  test('declares the types that the source derives from the schemas', async () => {
    assert.equal(await compile('same', [comparison()], { skipLibCheck: true, allowImportingTsExtensions: true }), '')
  })

  for (const options of combinations) {
    const { version, resolution, skipLibCheck } = options
    const title = `TypeScript ${version}, ${resolution}${skipLibCheck ? ', skipLibCheck' : ''}`
    test(`valid calls and the examples of the documentation compile, wrong calls do not: ${title}`, async () => {
      const all = findExamples()
      const needsNoPackage = (text: string) =>
        [...text.matchAll(/ from '([^']+)'/g)].every(([, name]) => name === '@tetrad/api')
      const withoutPackages = [calls, ...all.filter(needsNoPackage)].map(declareNode)
      assert.equal(await compile('own', withoutPackages, options), '')
      // An old compiler needs seconds for the declarations of other packages.
      if (!isLongRun && version === '5.4') return
      // Whether those declarations are valid is not our subject.
      const withLibraries = all.filter((text) => !needsNoPackage(text)).map(declareNode)
      assert.equal(await compile('libraries', withLibraries, { ...options, skipLibCheck: true }), '')
    })
  }
})
