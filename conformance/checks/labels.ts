// Label lists, spec 4.1 and 4.2.
import type { EndpointId } from '#api/contract/routes.ts'
import {
  type Checks,
  excerpt,
  expect,
  expectReply,
  expectSame,
  type Members,
  membersOf,
  Skipped,
  toList,
} from '../check.ts'
import type { ServerUnderTest } from '../server-under-test.ts'

const v2 = 'explorer.labelListV2'
const v1 = 'explorer.labelListV1'
/** 2100-01-01: a larger number of seconds is milliseconds. */
const secondsMax = 4_102_444_800

async function fetchLabels(server: ServerUnderTest): Promise<readonly Members[]> {
  const response = await server.call(v1)
  const { message } = membersOf(response.body, 'the reply')
  if (message === 'No data found') throw new Skipped('chain 1 has no labels')
  return toList(expectReply(v1, response).result, 'result')
}

export const labelChecks: Checks = {
  'explorer.labels.v2': {
    rule: 'spec 4.1',
    requirement: 'version 2 returns an array of labels or a link',
    async run(server) {
      await fetchLabels(server)
      await server.fetchReply(v2, { chainid: '1' })
    },
  },
  'explorer.labels.v1': {
    rule: 'spec 4.2',
    requirement: 'version 1 returns an array of labels, never a link',
    run: (server) => fetchLabels(server),
  },
  'explorer.labels.records': {
    rule: 'spec 2.1',
    requirement: 'slugs are lower-case and unique, times are Unix seconds',
    async run(server) {
      const seen = new Set<unknown>()
      for (const { labelslug, lastupdatedtimestamp } of await fetchLabels(server)) {
        expect(String(labelslug) === String(labelslug).toLowerCase(), `"${labelslug}" is not lower-case`)
        expect(!seen.has(labelslug), `"${labelslug}" is listed twice`)
        seen.add(labelslug)
        const seconds = Number(lastupdatedtimestamp)
        expect(seconds >= 0 && seconds < secondsMax, `${seconds} is not a Unix time in seconds`)
      }
    },
  },
  'explorer.labels.default-chain': {
    rule: 'spec 4.1',
    requirement: 'the default chainid is 1',
    async run(server) {
      await fetchLabels(server)
      const plain = await server.fetchReply(v2)
      const explicit = await server.fetchReply(v2, { chainid: '1' })
      if (typeof plain.result === 'string')
        expect(typeof explicit.result === 'string', 'one is a link, the other is not')
      else expectSame(plain.result, explicit.result, 'the list differs from that of chainid=1')
    },
  },
  'explorer.labels.versions-agree': {
    rule: 'behaviour/explorer.md#label-lists',
    requirement: 'version 1 is the list of chain 1',
    async run(server) {
      const list = await fetchLabels(server)
      const { result } = await server.fetchReply(v2, { chainid: '1' })
      if (typeof result === 'string') throw new Skipped('the list is long, so version 2 returns a link')
      expectSame(result, list, 'the two versions return different lists')
    },
  },
  'explorer.labels.unavailable-chain': {
    rule: 'spec 8',
    requirement: 'the list of chain 4326 is temporarily unavailable',
    async run(server) {
      const response = await server.expectFailure(v2, { chainid: '4326' }, 'explorer.chain_unavailable')
      expect(/unavailable/i.test(response.text), `the response does not say "unavailable": ${excerpt(response.text)}`)
    },
  },
  'explorer.labels.unsupported-chain': {
    rule: 'behaviour/explorer.md#chains',
    requirement: 'an unknown chain and a list of chains are unsupported',
    async run(server) {
      for (const chainid of ['999999999', '1,137', 'one'])
        await server.expectFailure(v2, { chainid }, 'explorer.chain_unsupported')
    },
  },
  'explorer.labels.format': {
    rule: 'behaviour/explorer.md#label-lists',
    requirement: 'formats other than csv and json are refused',
    run: (server) => server.expectFailure(v2, { format: 'xml' }, 'input.invalid'),
  },
  'explorer.selectors': {
    rule: 'behaviour/explorer.md#order-of-checks',
    requirement: 'without a key, a wrong module or action is reported; a wrong key is reported whatever else is wrong',
    async run(server) {
      const invalidCalls: readonly [EndpointId, Members, 'explorer.module' | 'explorer.action'][] = [
        [v2, { module: 'nothing' }, 'explorer.module'],
        [v2, { action: 'nothing' }, 'explorer.action'],
        [v1, { module: 'nothing' }, 'explorer.module'],
        [v1, { action: 'nothing' }, 'explorer.action'],
        ['explorer.fundedBy', { action: 'nothing' }, 'explorer.action'],
      ]
      for (const [id, input, code] of invalidCalls)
        await server.expectFailure(id, input, code, { key: null, once: true })
      const key = `tetrad:conformance:${'k'.repeat(43)}`
      await server.expectFailure(v2, { module: 'nothing' }, 'key.invalid', { key, once: true })
    },
  },
  'explorer.any-case-and-forms': {
    rule: 'behaviour/explorer.md#parameters',
    requirement: 'parameter names are case-insensitive, and forms are accepted like queries',
    async run(server) {
      const plain = await server.fetchReply(v1)
      const upper = await server.call(v1, {}, { url: (url) => rename(url, (name) => name.toUpperCase()) })
      expectSame(expectReply(v1, upper).result, plain.result, 'upper-case names return another list')
      const form = await server.call(
        v1,
        {},
        {
          method: 'POST',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: formOf(server),
          url: (url) => {
            url.search = ''
          },
        },
      )
      expectSame(expectReply(v1, form).result, plain.result, 'a form returns another list')
    },
  },
}

function rename(url: URL, change: (name: string) => string): void {
  const pairs = [...url.searchParams].map(([name, value]) => [change(name), value])
  url.search = new URLSearchParams(pairs).toString()
}

const formOf = (server: ServerUnderTest): string =>
  new URLSearchParams({ module: 'nametag', action: 'getlabelmasterlist', apikey: server.options.key }).toString()
