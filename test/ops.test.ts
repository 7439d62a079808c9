// The dashboard and the alert rules use only existing metrics, labels, outcomes and endpoints.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join, normalize } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { faults } from '#api/contract/faults.ts'
import { allRoutes } from '#api/contract/routes.ts'
import { openMetrics } from '#runtime/metrics.ts'
import { watchedDuties } from '#runtime/watched-duties.ts'
import { queueNames } from '#runtime/watched-metrics.ts'
import { watchedStatuses } from '#validators/extensions/alerts/series.ts'
import { type DemoServer, openDemoServer } from './demo-server.ts'

const root = normalize(join(import.meta.dirname, '..'))
const read = (path: string) => readFile(join(root, path), 'utf8')

/** Labels that Prometheus adds. */
const prometheusLabels = ['instance', 'job', 'le']

/** The labels of each metric in /metrics. */
function metricsIn(text: string): Map<string, Set<string>> {
  const metrics = new Map<string, Set<string>>()
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    if (name === undefined) continue
    const names = metrics.get(name) ?? new Set(prometheusLabels)
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) names.add(label)
    metrics.set(name, names)
  }
  return metrics
}

/** The simulated nodes schedule no fork. */
async function forkMetrics(): Promise<string> {
  const metrics = openMetrics({ process: false })
  const nextFork = { name: 'heze', epoch: 7, at: '2026-12-05T00:00:00.000Z', supported: false, differs: true }
  const is = { ageSeconds: null, gapsCount: 0, gapless: true, fresh: null, status: 'healthy' } as const
  metrics.setStreams([{ group: 'validators', name: 'network devnet', ...is, nextFork }])
  return metrics.text()
}

/** The demo has no watch list, so these metrics are empty there. */
async function watchedMetrics(): Promise<string> {
  const metrics = openMetrics({ process: false })
  const [network, series] = ['mainnet', { pool: 'North', operator: 'Ops', validator: '7' }]
  metrics.watched.addMissed(network, [{ ...series, duty: 'attestation', count: 1 }])
  metrics.watched.setExamined(network, 7)
  metrics.watched.setHead(network, [{ ...series, duty: 'block', count: 1 }])
  metrics.watched.setStatuses(network, [{ pool: 'North', operator: 'Ops', status: 'active', count: 1 }])
  metrics.watched.setQueues(network, [{ pool: 'North', operator: 'Ops', queue: 'exit', epoch: 9 }])
  metrics.watched.setDay(network, [
    { ...series, effectiveness: 99, proposerDuties: 1, proposed: 1, syncSignatures: 32 },
  ])
  metrics.watched.setUpcoming(network, [{ ...series, count: 1 }])
  metrics.watched.addDelivery('ops', 'ok')
  return (await metrics.text()).replaceAll(/^(?!tetrad_(?:watched|webhook)_).*\n/gm, '')
}

interface MetricUse {
  readonly metric: string
  readonly labels: readonly string[]
  /** The values that labels are compared with. */
  readonly values: readonly (readonly [label: string, value: string])[]
}

function metricUses(expression: string): MetricUse[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '""')
  const grouped = [...bare.matchAll(/\b(?:by|without|on) \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/))
  return [...expression.matchAll(/\b((?:tetrad|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)].map(
    ([, metric = '', selector = '']) => {
      const pairs = [...selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)]
      return {
        metric,
        labels: [...pairs.map(([, label = '']) => label), ...grouped],
        values: pairs.flatMap(([, label = '', text = '']) => text.split('|').map((value) => [label, value] as const)),
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
  let demo: DemoServer
  let known: Map<string, Set<string>>
  before(async () => {
    // The metrics of the mirror do not need a ClickHouse server.
    const mirrors = { clickhouse: { url: 'http://127.0.0.1:9/tetrad' } }
    demo = await openDemoServer({ plans: { free: { perSecond: 1 } }, mirrors })
    // Cause one of each event that is counted only when it happens.
    const low = await demo.keyFor('free')
    const call = (key: string) =>
      fetch(`${demo.url}/v0/eth/validators/1`, { headers: { authorization: `Bearer ${key}` } })
    await Promise.all([call(low), call(low), call(low), call('tetrad:no:body')])
    const text = await (await fetch(`${demo.url}/metrics`)).text()
    known = new Map([...metricsIn(text), ...metricsIn(await watchedMetrics()), ...metricsIn(await forkMetrics())])
    known.set('up', new Set(prometheusLabels))
  })
  after(() => demo[Symbol.asyncDispose]())

  test('use only metrics and labels of a running server', async () => {
    const expressions = [...(await dashboardExpressions()), ...(await rules()).map(({ expr }) => expr)]
    let count = 0
    for (const expression of expressions) {
      const used = metricUses(expression)
      assert.ok(used.length > 0, `no metric in ${expression}`)
      for (const { metric, labels } of used) {
        const labelsOfMetric = known.get(metric)
        assert.ok(labelsOfMetric, `${metric} is not in /metrics (${expression})`)
        for (const label of labels)
          assert.ok(labelsOfMetric.has(label), `${metric} has no label ${label} (${expression})`)
        count += 1
      }
    }
    assert.ok(count >= 25, String(count))
  })

  test('use only existing endpoints, outcomes and kinds', async () => {
    const outcomes = ['ok', 'unchanged', 'nothing', 'stream', 'failed', 'kept', 'done', ...Object.keys(faults)]
    const allowedValues: Record<string, readonly string[]> = {
      endpoint: [...Object.keys(allRoutes), 'none'],
      outcome: outcomes,
      kind: Object.keys(faults),
      port: ['state', 'duties'],
      operation: ['get', 'all', 'write', 'query'],
      duty: watchedDuties,
      status: watchedStatuses,
      queue: queueNames,
    }
    const expressions = [...(await dashboardExpressions()), ...(await rules()).map(({ expr }) => expr)]
    const seen = expressions.flatMap(metricUses).flatMap(({ values }) => values)
    assert.ok(seen.length > 10)
    for (const [label, value] of seen) {
      const allowed = allowedValues[label]
      if (allowed) assert.ok(allowed.includes(value), `${label}="${value}"`)
    }
  })

  test('every rule has a unique name, a severity, a summary and advice', async () => {
    const all = await rules()
    for (const { alert, labels, annotations } of all) {
      assert.match(alert, /^Tetrad[A-Z]\w+$/)
      assert.ok(['page', 'ticket'].includes(labels.severity), alert)
      assert.ok(annotations.summary.length > 10 && annotations.todo.length > 10, alert)
    }
    assert.equal(new Set(all.map(({ alert }) => alert)).size, all.length)
  })

  test('a misspelt metric is detected', () => {
    const [used] = metricUses('sum by (endpiont) (rate(tetrad_request_total{outcome=~"ok|client_gone"}[5m]))')
    assert.deepEqual(used, {
      metric: 'tetrad_request_total',
      labels: ['outcome', 'endpiont'],
      values: [
        ['outcome', 'ok'],
        ['outcome', 'client_gone'],
      ],
    })
    assert.equal(known.has('tetrad_request_total'), false)
  })
})
