// Tests `tetrad mcp` with the client of the protocol's own package, over standard input and output. Cases that do not
// concern the process run in this one: the command takes a second of CPU time to start.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { contract } from '#api/contract/contract.ts'
import { extensions } from '#api/contract/extensions.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { commandEnv, launcher } from '#test/run-command.ts'
import { serveScript } from '#test/scripted-server.ts'
import { type McpOptions, serveMcp } from './mcp-stdio.ts'

const newClient = (): Client => new Client({ name: 'test', version: '1' })

async function startCommand(env: Record<string, string>): Promise<Client> {
  const client = newClient()
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [launcher, 'mcp'],
    env: { ...commandEnv(), ...env },
    stderr: 'inherit',
  })
  await client.connect(transport)
  return client
}

/** Closing the client closes the server too. */
async function connect(options: McpOptions): Promise<Client> {
  const [transport, other] = InMemoryTransport.createLinkedPair()
  serveMcp(options, { transport })
  const client = newClient()
  await client.connect(other)
  return client
}

/** The texts of a result. */
const textsOf = ({ content }: { content: readonly object[] }): string[] =>
  content.map((part) => (part as { text: string }).text)

describe('tetrad mcp', () => {
  let demo: DemoServer
  let client: Client
  before(async () => {
    demo = await openDemoServer()
    client = await startCommand({ TETRAD_URL: demo.url, TETRAD_KEY: demo.key })
  })
  after(async () => {
    await client.close()
    await demo[Symbol.asyncDispose]()
  })

  test('every endpoint that reads is a tool with the input of the contract', async () => {
    const { tools } = await client.listTools()
    const readable = [...Object.values(contract), ...Object.values(extensions)].filter(
      (endpoint) => endpoint.method === 'GET' && !('stream' in endpoint),
    )
    assert.deepEqual(
      tools.map(({ name }) => name),
      readable.map(({ id }) => id.replace('.', '_')),
    )
    for (const name of ['explorer_trail', 'validators_explain', 'markets_changesBySlug'])
      assert.ok(
        tools.some((tool) => tool.name === name),
        name,
      )
    for (const tool of tools) {
      assert.match(tool.name, /^[a-zA-Z0-9_-]{1,64}$/)
      assert.equal(tool.annotations?.readOnlyHint, true)
      assert.ok(!JSON.stringify(tool.inputSchema).includes('"x-'), tool.name)
    }
    const tool = tools.find(({ name }) => name === 'validators_effectiveness')
    assert.deepEqual(tool?.inputSchema.required, ['validator_index_or_pubkey'])
    assert.equal(tool?.description?.startsWith(contract['validators.effectiveness'].summary), true)
  })

  test('a call returns the reply of the server', async () => {
    const { slug } = demo.samples
    const result = await client.callTool({ name: 'markets_bySlug', arguments: { slug } })
    assert.notEqual(result.isError, true)
    assert.equal(JSON.parse(textsOf(result)[0] ?? '').slug, slug)
  })

  test('an error of the server, and a wrong input, are tool errors', async () => {
    const missing = await client.callTool({ name: 'markets_bySlug', arguments: { slug: 'no-such-market' } })
    assert.equal(missing.isError, true)
    assert.match(textsOf(missing).join(), /markets\.bySlug: .*not found/i)
    for (const [input, expected] of [
      [{}, /slug/],
      [{ slug: demo.samples.slug, when: 'now' }, /additional properties/],
    ] as const) {
      const invalid = await client.callTool({ name: 'markets_bySlug', arguments: input })
      assert.equal(invalid.isError, true)
      assert.match(textsOf(invalid).join(), expected)
    }
  })

  test('trail, explain and history are available', async () => {
    const { address, badDay, slug } = demo.samples
    for (const [name, input] of [
      ['explorer_trail', { chainid: '1', address }],
      [
        'validators_explain',
        { validator_index_or_pubkey: String(badDay.index), fromDay: badDay.day, toDay: badDay.day },
      ],
      ['markets_changesBySlug', { slug }],
    ] as const) {
      const result = await client.callTool({ name, arguments: input })
      assert.notEqual(result.isError, true, `${name}: ${textsOf(result)}`)
    }
  })

  test('calls need the same key as over HTTP', async () => {
    const anonymous = await connect({ baseUrl: demo.url, key: undefined })
    const input = { validator_index_or_pubkey: '1' }
    const refused = await anonymous.callTool({ name: 'validators_metadata', arguments: input })
    await anonymous.close()
    assert.equal(refused.isError, true)
    assert.deepEqual(textsOf(refused), ['validators.metadata: Not authenticated'])
  })

  test('if no server is running, the tool error names its address', async () => {
    const alone = await connect({ baseUrl: 'http://127.0.0.1:9', key: undefined })
    const failed = await alone.callTool({ name: 'markets_search', arguments: { q: 'harbour' } })
    await alone.close()
    assert.equal(failed.isError, true)
    assert.match(textsOf(failed).join(), /[^.]\. Is a server running at http:\/\/127\.0\.0\.1:9\?/)
  })

  test('the key is sent, integers keep all digits, and a second text describes incomplete data', async () => {
    const headers = { 'x-tetrad-coverage': '0-99', 'x-tetrad-as-of': '2026-11-15T12:00:00Z' }
    await using scripted = await serveScript({ body: '{"validatorIndex":9007199254740993}', headers })
    const host = await connect({ baseUrl: scripted.url, key: 'tetrad:a:b' })
    const input = { validator_index_or_pubkey: '1' }
    const result = await host.callTool({ name: 'validators_metadata', arguments: input })
    await host.close()
    assert.deepEqual(textsOf(result), [
      '{"validatorIndex":9007199254740993}',
      'incomplete, covered so far: 0-99; as of 2026-11-15T12:00:00Z.',
    ])
    assert.equal(scripted.requests[0]?.headers.authorization, 'Bearer tetrad:a:b')
  })

  test('the guides are resources', async () => {
    const { resources } = await client.listResources()
    const guide = resources.find(({ uri }) => uri === 'tetrad://docs/explorer.md')
    assert.equal(guide?.mimeType, 'text/markdown')
    const { contents } = await client.readResource({ uri: 'tetrad://docs/explorer.md' })
    assert.equal((contents[0] as { text: string }).text.startsWith(`# ${guide?.title}\n`), true)
  })
})

test('it ends if standard input is a file', () => {
  const { status, stderr } = spawnSync(process.execPath, [launcher, 'mcp', '--url', 'http://127.0.0.1:9'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
  })
  assert.deepEqual([status, stderr], [0, ''])
})

const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

test('in a terminal, a note says that it waits for a host', {
  skip: !hasTerminal && 'needs script of util-linux',
}, async () => {
  const child = spawn('script', ['-qefc', '"$NODE" "$LAUNCHER" mcp', '/dev/null'], {
    env: { ...process.env, NODE: process.execPath, LAUNCHER: launcher },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let shown = ''
  for await (const chunk of child.stdout) {
    const wasWaiting = shown.includes('docs/agents.md')
    shown += chunk
    // Ctrl+D ends the input.
    if (!wasWaiting && shown.includes('docs/agents.md')) child.stdin.write('\u0004')
  }
  assert.deepEqual(await ended, [0, null], shown)
  assert.match(shown, /^Waiting for the messages of a host\./m)
})
