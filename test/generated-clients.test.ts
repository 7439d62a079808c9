// Clients that generators make of the OpenAPI document compile and make all eight calls. The generators are downloaded.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createClient } from '#api/client/client.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'
import { onlyInLongRun } from './long.ts'
import { isInstalled } from './programs.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const modules = join(root, 'node_modules')
const oapiCodegen = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const pythonClient = 'openapi-python-client==0.29.1'

describe('generated clients', { skip: onlyInLongRun }, () => {
  let demo: DemoServer
  let folder = ''
  let callArguments: string[] = []
  let expected: object
  before(async () => {
    demo = await openDemoServer()
    folder = await mkdtemp(join(tmpdir(), 'tetrad-generated-'))
    const document = await (await fetch(`${demo.url}/openapi.json`)).text()
    await writeFile(join(folder, 'openapi.json'), document)
    callArguments = [demo.url, demo.key, demo.samples.address, demo.samples.slug]
    expected = await factsOf(demo)
  })
  after(async () => {
    await demo?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const factsIn = ({ stdout }: { stdout: string }): unknown => JSON.parse(stdout)

  test('Go: oapi-codegen', { skip: !isInstalled('go', 'version') && 'no Go on this machine' }, async () => {
    await copyFile(join(import.meta.dirname, 'generated-clients/main.go'), join(folder, 'main.go'))
    const go = (...args: string[]) => run('go', args, { cwd: folder, env: { ...process.env, GOFLAGS: '-mod=mod' } })
    await go('mod', 'init', 'generated')
    await go('run', oapiCodegen, '-generate', 'types,client', '-package', 'main', '-o', 'client.go', 'openapi.json')
    await go('mod', 'tidy')
    assert.deepEqual(factsIn(await go('run', '.', ...callArguments)), expected)
  })

  test('Python: openapi-python-client', {
    skip: !isInstalled('python3', '--version') && 'no Python on this machine',
  }, async () => {
    const inFolder = { cwd: folder }
    await run('python3', ['-m', 'venv', 'venv'], inFolder)
    await run('venv/bin/pip', ['install', '--quiet', pythonClient], inFolder)
    const options = ['--path', 'openapi.json', '--output-path', 'generated', '--meta', 'none']
    await run('venv/bin/openapi-python-client', ['generate', ...options], inFolder)
    await copyFile(join(import.meta.dirname, 'generated-clients/calls.py'), join(folder, 'calls.py'))
    assert.deepEqual(factsIn(await run('venv/bin/python', ['calls.py', ...callArguments], inFolder)), expected)
  })

  test('TypeScript: openapi-typescript', async () => {
    await symlink(modules, join(folder, 'node_modules'))
    // openapi-typescript needs a compiler of version 5, which a project of its users has.
    const loader = `import { registerHooks } from 'node:module'
      registerHooks({ resolve: (name, context, next) => next(name === 'typescript' ? 'typescript-5.9' : name, context) })`
    await writeFile(join(folder, 'typescript-5.mjs'), loader)
    await writeFile(join(folder, 'calls.mts'), typedCalls)
    const node = (...args: string[]) => run(process.execPath, args, { cwd: folder })
    const generator = join(modules, 'openapi-typescript/bin/cli.js')
    await node('--import', join(folder, 'typescript-5.mjs'), generator, 'openapi.json', '-o', 'schema.d.ts')
    const options = ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions', '--module', 'nodenext']
    await node(join(modules, 'typescript-5.9/bin/tsc'), ...options, '--types', 'node', 'calls.mts')
    assert.deepEqual(factsIn(await node('calls.mts', ...callArguments)), expected)
  })
})

/** The same facts with the client of this project. */
async function factsOf({ url, key, samples: { address, slug } }: DemoServer): Promise<object> {
  const client = createClient({ baseUrl: url, key })
  const labels = (await client.explorer.labelListV2({})).result
  const quote = await client.fx.createQuote({
    ...{ from: { currency: 'USDC', amount: '1000.00' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
  })
  const { data } = await client.validators.aggregateEffectiveness({ indices: [12, 34], size: 2 })
  const { results } = await client.validators.effectiveness({ validator_index_or_pubkey: '12', limit: 3 })
  return {
    labelListV2: typeof labels === 'string' ? labels : labels[0]?.labelslug,
    labelListV1: (await client.explorer.labelListV1({})).result[0]?.labelslug,
    fundedBy: (await client.explorer.fundedBy({ address })).result.fundingAddress,
    createQuote: quote.from.amount,
    aggregateEffectiveness: data[1]?.validatorIndex,
    effectiveness: results[2]?.day,
    metadata: (await client.validators.metadata({ validator_index_or_pubkey: '12' })).validatorPubkey,
    bySlug: (await client.markets.bySlug({ slug })).question,
  }
}

const typedCalls = `// Calls the eight endpoints with the types that openapi-typescript generates.
import createClient from 'openapi-fetch'
import type { components, paths } from './schema.d.ts'

const [, , baseUrl = '', key = '', address = '', slug = ''] = process.argv
const client = createClient<paths>({ baseUrl, headers: { authorization: \`Bearer \${key}\` } })
// The key of the explorer is a query parameter.
const explorer = createClient<paths>({ baseUrl })
explorer.use({
  onRequest({ request }) {
    const url = new URL(request.url)
    url.searchParams.set('apikey', key)
    return new Request(url, request)
  },
})

type Schemas = components['schemas']
const labels = await explorer.GET('/v2/api', {
  params: { query: { module: 'nametag', action: 'getlabelmasterlist', chainid: '1' } },
})
const labelsV1 = await explorer.GET('/v1/api.ashx', {
  params: { query: { module: 'nametag', action: 'getlabelmasterlist' } },
})
const funded = await explorer.GET('/v2/api', {
  params: { query: { module: 'account', action: 'fundedby', chainid: '1', address } },
})
const quote = await client.POST('/v1/exchange/fx/quotes', {
  body: { from: { currency: 'USDC', amount: '1000.00' }, to: { currency: 'EURC' }, tenor: 'instant', type: 'reference' },
})
const aggregate = await client.GET('/v0/eth/validators/effectiveness', {
  params: { query: { indices: [12, 34], size: 2 } },
})
const path = { validator_index_or_pubkey: '12' }
const days = await client.GET('/v1/eth/validators/{validator_index_or_pubkey}/effectiveness', {
  params: { path, query: { limit: 3 } },
})
const metadata = await client.GET('/v0/eth/validators/{validator_index_or_pubkey}', { params: { path } })
const market = await client.GET('/markets/slug/{slug}', { params: { path: { slug } } })

const list = (labels.data as Schemas['LabelListV2Reply']).result
console.log(
  JSON.stringify({
    labelListV2: typeof list === 'string' ? list : list[0]?.labelslug,
    labelListV1: (labelsV1.data as Schemas['LabelListV1Reply']).result[0]?.labelslug,
    fundedBy: (funded.data as Schemas['FundedByReply']).result.fundingAddress,
    createQuote: quote.data?.from.amount,
    aggregateEffectiveness: aggregate.data?.data[1]?.validatorIndex,
    effectiveness: days.data?.results[2]?.day,
    metadata: metadata.data?.validatorPubkey,
    bySlug: market.data?.question,
  }),
)
`
