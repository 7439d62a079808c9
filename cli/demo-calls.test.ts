import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { type Endpoint, isRequired } from '#api/contract/kit.ts'
import type { DemoSamples } from '#simulator/demo.ts'
import { demoCalls, demoInputs } from './demo-calls.ts'

const samples: DemoSamples = {
  address: '0x1',
  slug: 'a',
  indices: [12, 34],
  badDay: { index: 1, day: 2 },
  pools: ['North', 'South'],
}

test('the calls of the demo have every input that the specification requires, chainid included', () => {
  const inputs = demoInputs(samples)
  for (const endpoint of Object.values<Endpoint>(contract)) {
    const input = inputs[endpoint.id as keyof typeof inputs]
    const required = Object.keys(endpoint.input.properties).filter((name) => isRequired(endpoint, name))
    assert.deepEqual(
      required.filter((name) => !(name in input)),
      [],
      endpoint.id,
    )
  }
  const commands = demoCalls('http://127.0.0.1:1', samples).map(({ command }) => command)
  assert.equal(commands.filter((command) => /[?&]chainid=1&/.test(command)).length, 2)
})
