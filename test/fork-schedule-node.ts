// An execution node that has nothing but a schedule of forks (`eth_config`, EIP-7910).
import { type AnswerServer, serveAnswers } from './altering-proxy.ts'

const contracts = { BEACON_ROOTS_ADDRESS: '0x00' }
const amsterdamContracts = { BUILDER_DEPOSIT_CONTRACT_ADDRESS: '0x01', BUILDER_EXIT_CONTRACT_ADDRESS: '0x02' }

/** The member `next` of an answer. `unknown` adds a contract that no known fork has. */
export const forkAt = (unix: number, name: 'amsterdam' | 'unknown') =>
  rulesOf(unix, { ...contracts, ...(name === 'amsterdam' ? amsterdamContracts : { OTHER: '0x03' }) })

const rulesOf = (activationTime: number, systemContracts: object) => ({
  ...{ activationTime, systemContracts, precompiles: {}, blobSchedule: { max: 9 } },
})

/** `next`: of the answer at the time of the call. Null: no fork is scheduled; undefined: the node has no `eth_config`. */
export const serveForkSchedule = (next: () => object | null | undefined): Promise<AnswerServer> =>
  serveAnswers(({ sent }) => {
    const answer = ({ id, method }: { id: number; method: string }) => {
      if (method === 'eth_chainId') return { jsonrpc: '2.0', id, result: '0x1' }
      const fork = method === 'eth_config' ? next() : undefined
      if (fork === undefined)
        return { jsonrpc: '2.0', id, error: { code: -32_601, message: `the method ${method} does not exist` } }
      return { jsonrpc: '2.0', id, result: { current: rulesOf(0, contracts), next: fork } }
    }
    const calls = JSON.parse(sent) as Parameters<typeof answer>[0] | Parameters<typeof answer>[0][]
    return { body: JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)) }
  })
