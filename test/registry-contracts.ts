// Contracts for tests of registries, on a real EVM: one source for all of them. A contract replies with the ABI bytes that the
// test has set for a call, and reverts otherwise.
import { type Abi, concatHex, encodeDeployData, encodeFunctionData, type Hex, padHex, toFunctionSelector } from 'viem'
import { compile, type RealEvm } from './real-evm.ts'

const source = `
pragma solidity ^0.8.0;
contract Replies {
  mapping(bytes => bytes) replies;
  mapping(bytes4 => bytes) defaults;
  function setReply(bytes calldata call, bytes calldata reply) external { replies[call] = reply; }
  function setDefault(bytes4 selector, bytes calldata reply) external { defaults[selector] = reply; }
  fallback() external {
    bytes memory reply = replies[msg.data];
    if (reply.length == 0) reply = defaults[msg.sig];
    require(reply.length > 0, "missing trie node");
    assembly { return(add(reply, 32), mload(reply)) }
  }
}
contract Endless { fallback() external { for (uint i = 0; ; i++) { assembly { sstore(0, i) } } } }
contract Huge { fallback() external { assembly { return(0, 100000) } } }
`

export const word = (value: Hex | number | bigint): Hex =>
  padHex(typeof value === 'string' ? value : `0x${value.toString(16)}`, { size: 32 })

type ContractKind = 'Replies' | 'Endless' | 'Huge'

/** Deploys such contracts and sets their replies. Nothing is mined between the calls of `deploy` or `reply`. */
export async function openContracts(evm: RealEvm) {
  const compiled = await compile(source)
  const [sender] = evm.rich
  const abi = compiled.Replies?.abi as Abi
  const send = (to: Hex, functionName: string, args: readonly Hex[]) =>
    sender.sendTransaction({ to, data: encodeFunctionData({ abi, functionName, args }), gas: 2_000_000n })
  return {
    async deploy(kind: ContractKind = 'Replies'): Promise<Hex> {
      const { abi, bytecode } = compiled[kind] as { abi: readonly unknown[]; bytecode: Hex }
      const hash = await sender.sendTransaction({
        data: encodeDeployData({ abi: abi as Abi, bytecode }),
        gas: 3_000_000n,
      })
      await evm.mine()
      const receipt = await evm.request<{ contractAddress: Hex }>('eth_getTransactionReceipt', hash)
      return receipt.contractAddress.toLowerCase() as Hex
    },
    /** The reply to a function, for these arguments only or for all. */
    async reply(contract: Hex, signature: string, reply: Hex, argument?: Hex): Promise<void> {
      const selector = toFunctionSelector(signature)
      if (argument === undefined) await send(contract, 'setDefault', [selector, reply])
      else await send(contract, 'setReply', [concatHex([selector, argument]), reply])
      await evm.mine()
    },
  }
}

export type RegistryContractsOnEvm = Awaited<ReturnType<typeof openContracts>>
