// Dashboard and alert rules speak of things that exist: metrics and labels, outcomes, endpoints.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { faults } from '#api/faults.ts'
import { allRoutes } from '#api/routes.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const root = normalize(join(import.meta.dirname, '..'))
const read = (path: string) => readFile(join(root, path), 'utf8')

/** Labels that the watcher itself adds. */
const added = ['instance', 'job', 'le']

/** Metric → the labels it comes with, as /metrics shows them. */
function metricsIn(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const own = found.get(name) ?? new Set(added)
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) own.add(label)
    found.set(name, own)
  }
  return found
}

interface Used {
  readonly metric: string
  readonly labels: readonly string[]
  /** Label → the words it is held against. */
  readonly values: readonly (readonly [label: string, word: string])[]
}

function usedIn(expression: string): Used[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '""')
  const grouped = [...bare.matchAll(/\b(?:by|without|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  return [...expression.matchAll(/\b((?:tetrad|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', selector = '']) => {
      const pairs = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)]
      return {
        metric,
        labels: [...pairs.map(([, label = '']) => label), ...grouped],
        values: pairs.flatMap(([, label = '', text = '']) => text.split('|').map((word) => [label, word] as const)),
      }
    },
  )
}

async function dashboardExpressions(): Promise<string[]> {
  const dashboard = JSON.parse(await read('ops/grafana/tetrad.json')) as {
    panels: { type: string; title: string; targets?: { expr: string; legendFormat: string }[] }[]
  }
  const panels = dashboard.panels.filter(({ type }) => type !== 'row')
  assert.ok(panels.length > 10 && panels.every(({ targets = [] }) => targets.length > 0))
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly todo: string }
}

async function rules(): Promise<Rule[]> {
  const file = parse(await read('ops/prometheus/tetrad.rules.yml')) as { groups: { rules: Rule[] }[] }
  return file.groups.flatMap((group) => group.rules)
}

describe('dashboard and alerts', () => {
  let world: DemoServer
  let known: Map<string, Set<string>>
  before(async () => {
    world = await openDemoServer({ plans: { free: { perSecond: 1 } } })
    // One of everything that is counted only when it happens.
    const low = await world.keyFor('free')
    const ask = (key: string) =>
      fetch(`${world.url}/v0/eth/validators/1`, { headers: { authorization: `Bearer ${key}` } })
    await Promise.all([ask(low), ask(low), ask(low), ask('tetrad:no:body')])
    const text = await (await fetch(`${world.url}/metrics`)).text()
    known = metricsIn(text)
    known.set('up', new Set(added))
  })
  after(() => world[Symbol.asyncDispose]())

  test('every metric and label they name is in /metrics of a running server', async () => {
    const expressions = [...(await dashboardExpressions()), ...(await rules()).map(({ expr }) => expr)]
    let count = 0
    for (const expression of expressions) {
      const used = usedIn(expression)
      assert.ok(used.length > 0, `no metric in ${expression}`)
      for (const { metric, labels } of used) {
        const own = known.get(metric)
        assert.ok(own, `${metric} is not in /metrics (${expression})`)
        for (const label of labels) assert.ok(own.has(label), `${metric} has no label ${label} (${expression})`)
        count += 1
      }
    }
    assert.ok(count >= 25, String(count))
  })

  test('every endpoint, outcome and kind they name exists', async () => {
    const outcomes = ['ok', 'unchanged', 'nothing', 'stream', 'failed', 'kept', 'done', ...Object.keys(faults)]
    const closed: Record<string, readonly string[]> = {
      endpoint: [...Object.keys(allRoutes), 'none'],
      outcome: outcomes,
      kind: Object.keys(faults),
      port: ['state', 'duties'],
      operation: ['get', 'all', 'write', 'query'],
    }
    const expressions = [...(await dashboardExpressions()), ...(await rules()).map(({ expr }) => expr)]
    const seen = expressions.flatMap(usedIn).flatMap(({ values }) => values)
    assert.ok(seen.length > 10)
    for (const [label, word] of seen) {
      const allowed = closed[label]
      if (allowed) assert.ok(allowed.includes(word), `${label}="${word}"`)
    }
  })

  test('every rule says what it means, what to do and how urgent it is; names are used once', async () => {
    const all = await rules()
    for (const { alert, labels, annotations } of all) {
      assert.match(alert, /^Tetrad[A-Z]\w+$/)
      assert.ok(['page', 'ticket'].includes(labels.severity), alert)
      assert.ok(annotations.summary.length > 10 && annotations.todo.length > 10, alert)
    }
    assert.equal(new Set(all.map(({ alert }) => alert)).size, all.length)
  })

  test('a misspelt metric would be found', () => {
    const [used] = usedIn('sum by (endpiont) (rate(tetrad_request_total{outcome=~"ok|gone"}[5m]))')
    assert.deepEqual(used, {
      metric: 'tetrad_request_total',
      labels: ['outcome', 'endpiont'],
      values: [
        ['outcome', 'ok'],
        ['outcome', 'gone'],
      ],
    })
    assert.equal(known.has('tetrad_request_total'), false)
  })
})
