// The compose file for several servers must agree with the settings and the load balancer configuration. Nothing is
// started.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { loadConfig } from '#runtime/config.ts'

const root = normalize(join(import.meta.dirname, '..'))
const read = (path: string) => readFile(join(root, path), 'utf8')

interface Service {
  readonly image: string
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly restart?: string
  readonly stop_grace_period?: string
}

const text = await read('ops/compose.cluster.yaml')
const { services, volumes } = parse(text, { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
}
const named = (prefix: string) => Object.keys(services).filter((name) => name.startsWith(prefix))
const servers = named('tetrad-')
const all = (pattern: RegExp, from: string) => [...from.matchAll(pattern)].map(([, found = '']) => found)

/** The settings of a server, with any password. */
const settingsOf = async (name: string) => {
  const variables = Object.entries(services[name]?.environment ?? {})
  const env = Object.fromEntries(
    variables.map(([key, value]) => [key, value.replaceAll(/\$\{\w+:\?[^}]*\}/g, 'chosen')]),
  )
  return (await loadConfig({ env, flags: [], folder: '/nowhere' })).settings
}

const hostsOf = (address: string) =>
  (/@([^/]+)\//.exec(address)?.[1] ?? '').split(',').map((host) => host.replace(/:\d+$/, ''))

describe('compose.cluster.yaml', () => {
  test('has three servers, a balancer, PostgreSQL and Redis', () => {
    assert.equal(servers.length, 3)
    const others = Object.keys(services).filter((name) => !servers.includes(name))
    assert.deepEqual(others, ['balancer', 'postgres', 'redis'])
  })

  test('contains no password and no default password', () => {
    assert.deepEqual([...new Set(all(/\$\{(\w+)/g, text))].sort(), ['POSTGRES_PASSWORD', 'REDIS_PASSWORD'])
    for (const [use] of text.matchAll(/(?<!\$)\$\{[^}]*\}/g)) assert.match(use, /^\$\{[A-Z_]+:\?[^}]+\}$/)
    for (const [, password] of text.matchAll(/^\s+\w*PASSWORD\w*: (.*)$/gm)) assert.match(password ?? '', /^\$\{/)
    for (const [, password] of text.matchAll(/:\/\/\w*:([^@]*)@/g)) assert.match(password ?? '', /^\$\{/)
  })

  test('every service has a pinned image, a restart policy and a health check; only the balancer has a port', () => {
    for (const [name, service] of Object.entries(services)) {
      assert.ok(service.image === 'tetrad' || /:\d[\d.]*$/.test(service.image), `${name}: ${service.image}`)
      assert.equal(service.restart, 'unless-stopped', name)
      assert.ok((service.healthcheck?.test.length ?? 0) > 0, name)
      if (name !== 'balancer') assert.equal(service.ports, undefined, name)
      const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {})
      for (const other of needed) assert.ok(other in services, `${name} waits for ${other}`)
    }
    assert.deepEqual(services.balancer?.ports, ['127.0.0.1:8080:8080'])
  })

  test('mounts existing files and declared volumes', () => {
    const used: string[] = []
    for (const service of Object.values(services)) {
      for (const volume of service.volumes ?? []) {
        const source = volume.split(':')[0] ?? ''
        if (!source.startsWith('./')) used.push(source)
        else assert.ok(existsSync(join(root, 'ops', source)), source)
      }
    }
    assert.deepEqual(used.sort(), Object.keys(volumes).sort())
  })
})

describe('servers', () => {
  test('have valid settings, and addresses of services', async () => {
    for (const name of servers) {
      const settings = await settingsOf(name)
      assert.deepEqual(hostsOf(settings.store.state), ['postgres'])
      assert.equal(new URL(settings.limits).hostname, 'redis')
      assert.equal(settings.server.proxyHops, 1)
      const { stopDelayMs, stopTimeoutMs } = settings.server
      const graceMs = Number.parseInt(services[name]?.stop_grace_period ?? '', 10) * 1000
      assert.ok(graceMs > stopDelayMs + stopTimeoutMs, String(graceMs))
    }
  })

  test('use the credentials of PostgreSQL and Redis', async () => {
    const { store, limits } = await settingsOf('tetrad-1')
    const state = new URL(store.state)
    const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD } = services.postgres?.environment ?? {}
    assert.deepEqual([state.username, state.pathname], [POSTGRES_USER, `/${POSTGRES_DB}`])
    assert.match(POSTGRES_PASSWORD ?? '', /POSTGRES_PASSWORD/)
    assert.match(services.redis?.environment?.REDISCLI_AUTH ?? '', /REDIS_PASSWORD/)
    assert.equal(new URL(limits).username, '')
    assert.match(text, /--maxmemory-policy noeviction/)
  })
})

describe('balancer', () => {
  test('checks readiness, retries only GET, and does not expose metrics', async () => {
    const lines = (await read('ops/haproxy/haproxy.cfg')).split('\n').map((line) => line.trim())
    const { server } = await settingsOf('tetrad-1')
    const backends = lines
      .join('\n')
      .split(/^backend /m)
      .slice(1)
    assert.equal(backends.length, 2)
    for (const backend of backends) {
      assert.deepEqual(all(/^server (\S+)/gm, backend), servers)
      assert.deepEqual(
        all(/^server \S+ (\S+)/gm, backend),
        servers.map((name) => `${name}:${server.port}`),
      )
      assert.match(backend, /^http-request disable-l7-retry if !METH_GET$/m)
    }
    assert.match(backends[0] ?? '', /^option httpchk GET \/readyz$/m)
    // The balancer stops using a server before it closes.
    const [, everySeconds, fall] = /inter (\d+)s fall (\d+)/.exec(lines.join('\n')) ?? []
    assert.ok(Number(everySeconds) * Number(fall) * 1000 < server.stopDelayMs)
    assert.ok(lines.includes('option forwardfor'))
    assert.ok(lines.some((line) => /^http-request deny .*\/metrics \/readyz \/coverage/.test(line)))
    const seconds = Number(lines.find((line) => line.startsWith('timeout server'))?.match(/\d+/)?.[0])
    assert.ok(seconds * 1000 > server.responseTimeoutMs)
  })
})
