import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trail } from '#api/contract/wire/trail.ts'
import { trailCsv } from './trail-csv.ts'

const hop = (fundingAddress: string, name?: string) => ({
  ...{ fundingAddress, value: '1000', block: '7', timeStamp: '1700000000', fundingTxn: '0xff' },
  ...(name !== undefined && { label: { name, source: 'registry', confidence: 90 } }),
})

test('each hop is a row; names with commas are quoted, and no cell is a formula', () => {
  const trail = { address: '0xaa', hops: [hop('0xbb', '=Exchange, "hot"'), hop('0xcc')] } as unknown as Trail
  assert.deepEqual(trailCsv(trail).split('\r\n'), [
    'hop,address,fundedBy,label,labelSource,valueWei,block,time,transaction',
    `1,0xaa,0xbb,"'=Exchange, ""hot""",registry,1000,7,2023-11-14T22:13:20.000Z,0xff`,
    '2,0xbb,0xcc,,,1000,7,2023-11-14T22:13:20.000Z,0xff',
    '',
  ])
})
