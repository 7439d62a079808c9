// Lists of validators and operators, and version 0 of ratings: extensions of group C. A server without them is not
// checked.
import type { AnyId } from '#api/contract/routes.ts'
import {
  type Checks,
  expect,
  expectList,
  expectSame,
  type Members,
  requireExtension,
  Skipped,
  toList,
} from '../check.ts'
import { expectSamePages } from '../expect-same-pages.ts'
import { validatorsOf } from '../samples.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const rule = 'behaviour/validators.md#operators'

const fetchList = async (server: ServerUnderTest, id: AnyId, input: Members = {}) =>
  expectList(id, requireExtension(id, await server.call(id, input)))

async function fetchOperators(server: ServerUnderTest): Promise<readonly Members[]> {
  const { data } = await server.fetchExtension('validators.operators', { window: '7d' })
  const known = toList(data, 'data').filter(({ validatorCount }) => validatorCount !== null)
  if (known.length < 2) throw new Skipped('the server knows fewer than two pools with figures')
  return known
}

export const validatorListChecks: Checks = {
  'validators.list.records': {
    rule: 'behaviour/validators.md#list-of-validators',
    requirement: 'a list has the metadata of validators, from the given index on',
    async run(server) {
      const index = Math.max(...(await validatorsOf(server)))
      const { data } = await server.fetchExtension('validators.list', { from: index, size: 1 })
      const record = await server.fetchReply('validators.metadata', { validator_index_or_pubkey: index })
      expectSame(data, [record], 'the list differs from the metadata')
    },
  },
  'validators.list.pages': {
    rule: 'behaviour/validators.md#list-of-validators',
    requirement: 'pages have the given size, and the links lead through the list',
    run: (server) => expectSamePages(server, { id: 'validators.list', size: 'size', count: 2 }),
  },
  'validators.list.version-0': {
    rule: 'behaviour/validators.md#version-0-of-ratings',
    requirement: 'version 0 returns the records of the aggregate for one validator',
    async run(server) {
      const [index] = await validatorsOf(server)
      const page = await server.fetchExtension('validators.effectivenessV0', {
        validator_index_or_pubkey: index,
        size: 3,
      })
      const { data } = await server.fetchReply('validators.aggregateEffectiveness', { indices: [index], size: 3 })
      expectSame(page.data, data, 'the records differ')
    },
  },
  'validators.list.operators': {
    rule,
    requirement: 'operators are listed largest first and are found by name; an unknown name returns 404',
    async run(server) {
      const operators = await fetchOperators(server)
      const counts = operators.map(({ validatorCount }) => Number(validatorCount))
      const sorted = counts.toSorted((a, b) => b - a)
      expectSame(counts, sorted, 'the largest operator does not come first')
      const [first] = operators
      const name = { operator_id: first?.id, idType: first?.idType }
      const summary = await server.fetchExtension('validators.operatorSummary', { ...name, window: '7d' })
      expectSame(summary, first, 'the summary differs from the list')
      const found = await server.fetchExtension('validators.operator', name)
      expect(found.id === first?.id, `requested ${first?.id}, got ${found.id}`)
      await server.expectFailure(
        'validators.operator',
        { operator_id: 'no such operator anywhere here' },
        'record.not_found',
      )
    },
  },
  'validators.list.operator-records': {
    rule,
    requirement: 'records of an operator are listed newest first, and the links lead through them',
    async run(server) {
      const id = 'validators.operatorEffectiveness'
      const [operator] = await fetchOperators(server)
      const name = { operator_id: operator?.id, idType: operator?.idType }
      const records = await expectSamePages(server, { id, input: name, size: 'size', count: 3 })
      const days = records.map(({ day }) => Number(day))
      const sorted = days.toSorted((a, b) => b - a)
      expectSame(days, sorted, 'the newest day does not come first')
    },
  },
  'validators.list.network': {
    rule,
    requirement: 'windows of the network are 1, 7 and 30 days, and the shortest has the figures of the last day',
    async run(server) {
      const [day] = await fetchList(server, 'validators.networkStats')
      const overviews = await fetchList(server, 'validators.networkOverview')
      if (!day) throw new Skipped('no day has a summary')
      const [shortest] = overviews
      const windows = overviews.map(({ timeWindow }) => timeWindow)
      expectSame(windows, ['1d', '7d', '30d'], `the windows are ${windows.join()}`)
      expect(shortest?.startDay === day.day && shortest?.endDay === day.day, 'the window 1d is not the last day')
      for (const name of ['avgValidatorEffectiveness', 'avgUptime', 'avgCorrectness', 'avgInclusionDelay'])
        expectSame(shortest?.[name], day[name], `${name} differs`)
    },
  },
}
