// Simulates whether a stranger can settle at `fx.spender`. Permit2 checks the deadline of a signature, not `expiresAt` of the
// quote. So if anybody may settle, a signed quote is an option of the taker (behaviour/fx.md#settlement-contract).
//
// 1. Nothing is sent: the node runs a call of `settle`, as in examples/settlement, from a random address. In this call,
//    Permit2 and both tokens are replaced by code that accepts everything. It succeeds unless the contract refuses it.
// 2. A contract with other functions refuses this call too. So a refusal proves nothing about other functions.
import type { Clock } from '#runtime/clock.ts'
import type { Random } from '#runtime/random.ts'
import type { FxSettings } from '#runtime/settings/fx.ts'
import { openRpc } from '#sources/evm/rpc.ts'
import { abiWord, isNodeAnswer } from './settlement.ts'

export interface SpenderCheck {
  /** `open`: a stranger can settle. `refuses`: rule 2. `unknown`: the node did not run the call. */
  readonly is: 'open' | 'refuses' | 'no contract' | 'unknown'
  readonly message: string
}

const timeoutMs = 5000
/** Returns 1 to every call. */
const acceptingCode = '0x600160005260206000f3'
/** `settle(((address,uint256),uint256,uint256),address,((bytes32,address,address,uint256,uint256,uint256),address,uint256),bytes)` */
const settleSelector = 'b9bfd03f'

export async function checkSpender(parts: {
  readonly fx: FxSettings
  readonly clock: Clock
  readonly random: Random
}): Promise<SpenderCheck> {
  const { fx, clock, random } = parts
  const { chainId, spender, permit2, rpcUrl: url, rpcGasMax } = fx
  const address = () => `0x${random.bytes(20).toHex()}`
  const [stranger, owner, base, quote] = [address(), address(), address(), address()]
  const rpc = openRpc({ chain: String(chainId), rpc: [{ url, perSecond: 0, batchMax: 10, timeoutMs }], clock })
  const data = settleCalldata({ owner, base, quote, nonce: BigInt(`0x${random.bytes(6).toHex()}`) })
  const accepting = Object.fromEntries([permit2, base, quote].map((at) => [at, { code: acceptingCode }]))
  const call = { from: stranger, to: spender, data, gas: `0x${rpcGasMax.toString(16)}` }
  const [code, settled] = await rpc.call(
    [
      { method: 'eth_getCode', params: [spender, 'latest'] },
      { method: 'eth_call', params: [call, 'latest', accepting], acceptsError: true },
    ],
    { untilMs: clock.monotonicMs() + timeoutMs, attemptsMax: 2 },
  )
  if (code?.is !== 'result') return { is: 'unknown', message: 'the node did not return the code of fx.spender' }
  if (code.result === '0x') return { is: 'no contract', message: `there is no contract at fx.spender (${spender})` }
  if (settled?.is === 'result')
    return {
      is: 'open',
      message: `anybody can settle at fx.spender (${spender}): a taker can wait until the maturity, and settle only if the price has become good`,
    }
  if (settled && isNodeAnswer(settled))
    return { is: 'refuses', message: 'the contract at fx.spender refuses `settle` from a stranger' }
  return { is: 'unknown', message: 'the node did not run the simulated call of fx.spender' }
}

const uint256Max = 2n ** 256n - 1n
const signatureBytes = 65

function settleCalldata(given: {
  readonly owner: string
  readonly base: string
  readonly quote: string
  readonly nonce: bigint
}): string {
  const { owner, base, quote, nonce } = given
  const permit = [quote, 1n, nonce, uint256Max]
  const consideration = [nonce, base, quote, 1n, 1n, uint256Max]
  const words = [...permit, owner, ...consideration, owner, 0n, 14n * 32n, BigInt(signatureBytes)]
  const signature = '1c'.padStart(signatureBytes * 2, '1').padEnd(96 * 2, '0')
  return `0x${settleSelector}${words.map(abiWord).join('')}${signature}`
}
