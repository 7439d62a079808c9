// Everything that is stored of a network can be deleted, and nothing of others (docs/validators.md#a-chain-that-starts-again).
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { StateReader } from '#storage/state.ts'
import { openContext } from '#test/context.ts'
import { perfect, register, writeEpochs } from '#test/validators-world.ts'
import { plainDutyTables } from './duties/delete-network.ts'
import { networkId } from './duties/layout.ts'
import { storedNetworks } from './duties/networks.ts'
import { forgetNetwork, registryTables } from './forget-network.ts'

const names = ['mainnet', 'devnet'] as const

/** Rows of every table of a database, by table. */
async function countAll(reader: StateReader): Promise<Record<string, number>> {
  const sql = "select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name"
  const counts: Record<string, number> = {}
  for (const { name } of await reader.all<{ name: string }>(sql))
    counts[name] = (await reader.get<{ rows: number }>(`select count(*) as rows from ${name}`))?.rows ?? 0
  return counts
}

async function tablesWithNetwork(reader: StateReader): Promise<string[]> {
  const sql = `select t.name from sqlite_master t join pragma_table_info(t.name) c
     where t.type = 'table' and c.name = 'network' order by 1`
  return (await reader.all<{ name: string }>(sql)).map(({ name }) => name)
}

test('what is deleted are all tables with a network', async () => {
  await using context = await openContext()
  assert.deepEqual(await tablesWithNetwork(context.ingest), registryTables.toSorted())
  assert.deepEqual(await tablesWithNetwork(context.dutiesState), plainDutyTables.toSorted())
})

test('a network is forgotten completely, and another one is unchanged', async () => {
  await using context = await openContext({ validators: { networks: { devnet: {} } } })
  const fill = async (network: (typeof names)[number]) => {
    await register(context, network, [5])
    const rows = Array.from({ length: 300 }, (_, epoch) => ({ ...perfect, epoch, validator: 5 }))
    await writeEpochs(context, network, { from: 0, until: 300 }, rows)
    await context.ingest.write(async (tx) => {
      for (const stream of [
        `alerts/${network}`,
        `deposits/${network}/count`,
        `mirror/clickhouse/t/${network}/nextUnit`,
      ])
        await tx.run('insert into cursors (stream, at) values (?, 7)', stream)
    })
    await mkdir(join(context.dir, 'beacon', network), { recursive: true })
  }
  const count = async () => ({ ingest: await countAll(context.ingest), duties: await countAll(context.dutiesState) })
  await fill('mainnet')
  const before = await count()
  await fill('devnet')
  assert.notDeepEqual(await count(), before)
  assert.deepEqual(await storedNetworks(context.duties), ['mainnet', 'devnet'])
  assert.ok((await forgetNetwork(context, 'devnet', context.dir)) > 0)
  assert.deepEqual(await count(), before)
  assert.deepEqual(
    names.map((name) => existsSync(join(context.dir, 'beacon', name))),
    [true, false],
  )
  assert.deepEqual(await storedNetworks(context.duties), ['mainnet'])
  assert.equal(await forgetNetwork(context, 'devnet', context.dir), 0)
  assert.ok(networkId('devnet') !== networkId('mainnet'))
})
