import { after, before, describe } from 'node:test'
import { type ClickhouseServer, noClickhouse, startClickhouse } from '#test/clickhouse.ts'
import { onlyInLongRun } from '#test/long.ts'
import { factsSuite, sums } from '../facts.suite.ts'
import { openClickhouse } from './clickhouse.ts'

describe('facts on one ClickHouse server', { skip: noClickhouse || onlyInLongRun }, () => {
  let server: ClickhouseServer
  before(async () => {
    server = await startClickhouse()
  })
  after(() => server?.[Symbol.asyncDispose]())

  factsSuite('clickhouse', async () => {
    const url = await server.database()
    return {
      open: (migrations = [sums]) => openClickhouse(url, migrations),
      [Symbol.asyncDispose]: async () => {},
    }
  })
})
