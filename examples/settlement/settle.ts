// Settles one trade with the contract in Settlement.sol, as the first account of Hardhat. Reads what `tetrad fx trade ID
// --permit` prints, and prints the hash of the transaction.
//   tetrad fx trade ID --permit --json | node settle.ts [http://127.0.0.1:8545]
import { text } from 'node:stream/consumers'
import {
  type BaseError,
  ContractFunctionRevertedError,
  createTestClient,
  type Hex,
  http,
  parseAbi,
  publicActions,
  walletActions,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'

const [, , url = 'http://127.0.0.1:8545'] = process.argv
const operator = mnemonicToAccount('test test test test test test test test test test test junk')
const chain = createTestClient({ mode: 'hardhat', transport: http(url) })
  .extend(publicActions)
  .extend(walletActions)
const abi = parseAbi([
  'struct TokenPermissions { address token; uint256 amount; }',
  'struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }',
  'struct Consideration { bytes32 quoteId; address base; address quote; uint256 baseAmount; uint256 quoteAmount; uint256 maturity; }',
  'struct TakerDetails { Consideration consideration; address recipient; uint256 fee; }',
  'function settle(Permit permit, address owner, TakerDetails taker, bytes signature)',
  'error NotOperator()',
  'error WrongToken()',
  'error WrongAmount()',
  'error TransferFailed()',
  // Of Permit2.
  'error InvalidSigner()',
  'error InvalidNonce()',
  'error SignatureExpired(uint256 deadline)',
])

/** Amounts of tokens with 18 decimals are larger than a number can be. */
const keepDigits = (_: string, value: unknown, { source }: { source: string }): unknown =>
  typeof value === 'number' ? source : value
const parse = JSON.parse as (json: string, revive: typeof keepDigits) => Settleable

interface Settleable {
  readonly owner: Hex
  readonly signature: Hex
  readonly typedData: {
    readonly message: {
      readonly permitted: { readonly token: Hex; readonly amount: string }
      readonly spender: Hex
      readonly nonce: string
      readonly deadline: string
      readonly witness: {
        readonly consideration: {
          readonly quoteId: Hex
          readonly base: Hex
          readonly quote: Hex
          readonly baseAmount: string
          readonly quoteAmount: string
          readonly maturity: string
        }
        readonly recipient: Hex
        readonly fee: string
      }
    }
  }
}

const { owner, signature, typedData } = parse(await text(process.stdin), keepDigits)
const { permitted, spender, nonce, deadline, witness } = typedData.message
const { consideration } = witness
const permit = {
  permitted: { ...permitted, amount: BigInt(permitted.amount) },
  nonce: BigInt(nonce),
  deadline: BigInt(deadline),
}
const taker = {
  ...witness,
  fee: BigInt(witness.fee),
  consideration: {
    ...consideration,
    baseAmount: BigInt(consideration.baseAmount),
    quoteAmount: BigInt(consideration.quoteAmount),
    maturity: BigInt(consideration.maturity),
  },
}
const call = { abi, address: spender, functionName: 'settle', args: [permit, owner, taker, signature] } as const
// A call that would revert fails here, before it is sent.
await chain.simulateContract({ ...call, account: operator }).catch((error: BaseError) => {
  const reverted = error.walk((cause) => cause instanceof ContractFunctionRevertedError)
  const reason = reverted instanceof ContractFunctionRevertedError ? reverted.data?.errorName : undefined
  process.stderr.write(`${reason ?? error.shortMessage}\n`)
  process.exit(1)
})
const hash = await chain.writeContract({ ...call, account: operator, chain: null })
await chain.waitForTransactionReceipt({ hash })
process.stdout.write(`${hash}\n`)
