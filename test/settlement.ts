// Contracts for tests of settlement: the real Permit2 at its usual address, two tokens, and a settlement contract. The
// contract computes the witness hash in Solidity, independently of the server's typed data.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createPublicClient, encodeDeployData, getAddress, type Hex, http, toFunctionSelector } from 'viem'
import type { TypedData } from '#api/contract/wire/fx.ts'
import { compile, type RealEvm } from './real-evm.ts'

export const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

/** Errors of Permit2. */
const refusals = ['InvalidSigner()', 'InvalidContractSignature()', 'InvalidNonce()', 'SignatureExpired(uint256)']

const source = `
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

contract Token {
  uint8 public immutable decimals;
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(address => uint256)) public allowance;
  event Transfer(address indexed from, address indexed to, uint256 value);
  constructor(uint8 places) { decimals = places; }
  function mint(address to, uint256 amount) external { balanceOf[to] += amount; }
  function approve(address spender, uint256 amount) external returns (bool) {
    allowance[msg.sender][spender] = amount;
    return true;
  }
  function transfer(address to, uint256 amount) external returns (bool) {
    balanceOf[msg.sender] -= amount;
    balanceOf[to] += amount;
    emit Transfer(msg.sender, to, amount);
    return true;
  }
  function transferFrom(address from, address to, uint256 amount) external returns (bool) {
    allowance[from][msg.sender] -= amount;
    balanceOf[from] -= amount;
    balanceOf[to] += amount;
    emit Transfer(from, to, amount);
    return true;
  }
}

interface IPermit2 {
  struct TokenPermissions { address token; uint256 amount; }
  struct PermitTransferFrom { TokenPermissions permitted; uint256 nonce; uint256 deadline; }
  struct SignatureTransferDetails { address to; uint256 requestedAmount; }
  function permitWitnessTransferFrom(
    PermitTransferFrom memory permit, SignatureTransferDetails calldata details, address owner, bytes32 witness,
    string calldata witnessTypeString, bytes calldata signature
  ) external;
}

contract Settlement {
  struct Consideration {
    bytes32 quoteId; address base; address quote; uint256 baseAmount; uint256 quoteAmount; uint256 maturity;
  }
  struct TakerDetails { Consideration consideration; address recipient; uint256 fee; }

  string constant CONSIDERATION =
    "Consideration(bytes32 quoteId,address base,address quote,uint256 baseAmount,uint256 quoteAmount,uint256 maturity)";
  string constant TAKER = "TakerDetails(Consideration consideration,address recipient,uint256 fee)";
  string constant WITNESS = string.concat(
    "TakerDetails witness)", CONSIDERATION, TAKER, "TokenPermissions(address token,uint256 amount)"
  );

  IPermit2 immutable permit2;
  constructor(IPermit2 at) { permit2 = at; }

  function settle(
    IPermit2.PermitTransferFrom calldata permit, address owner, TakerDetails calldata taker, bytes calldata signature
  ) external {
    Consideration calldata c = taker.consideration;
    bytes32 inner = keccak256(abi.encode(
      keccak256(bytes(CONSIDERATION)), c.quoteId, c.base, c.quote, c.baseAmount, c.quoteAmount, c.maturity
    ));
    bytes32 witness = keccak256(abi.encode(
      keccak256(bytes(string.concat(TAKER, CONSIDERATION))), inner, taker.recipient, taker.fee
    ));
    permit2.permitWitnessTransferFrom(
      permit, IPermit2.SignatureTransferDetails(address(this), permit.permitted.amount), owner, witness, WITNESS, signature
    );
    Token(c.base).transfer(taker.recipient, c.baseAmount - taker.fee);
  }
}

/// A contract wallet whose owner signs for it (EIP-1271).
contract Wallet {
  address public immutable owner;
  constructor(address by) { owner = by; }
  function approve(Token token, address spender, uint256 amount) external { token.approve(spender, amount); }
  function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
    if (signature.length != 65) return 0xffffffff;
    (bytes32 r, bytes32 s) = abi.decode(signature[:64], (bytes32, bytes32));
    address signer = ecrecover(hash, uint8(signature[64]), r, s);
    return signer != address(0) && signer == owner ? bytes4(0x1626ba7e) : bytes4(0xffffffff);
  }
}

contract Feed {
  uint8 public decimals;
  uint80 roundId; int256 answer; uint256 updatedAt; uint80 answeredInRound;
  constructor(uint8 places) { decimals = places; }
  function set(uint80 round, int256 price, uint256 at, uint80 answeredIn) external {
    (roundId, answer, updatedAt, answeredInRound) = (round, price, at, answeredIn);
  }
  function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
    return (roundId, answer, updatedAt, updatedAt, answeredInRound);
  }
}
`

/** The runtime code from the installed package of its authors. */
function permit2Code(): Hex {
  const file = '@uniswap/v4-periphery/lib/permit2/test/utils/DeployPermit2.sol'
  const path = fileURLToPath(new URL(`../node_modules/${file}`, import.meta.url))
  const [, code] = /hex"([0-9a-f]+)"/.exec(readFileSync(path, 'utf8')) ?? []
  if (!code) throw new Error(`no bytecode in ${path}`)
  return `0x${code}`
}

const noTransaction: Hex = '0x'

export type Settlement = Awaited<ReturnType<typeof openSettlement>>

export async function openSettlement(evm: RealEvm, decimals: { readonly given: number; readonly taken: number }) {
  const contracts = await compile(source)
  const [operator] = evm.rich
  const reader = createPublicClient({ transport: http(evm.url) })
  await evm.request('hardhat_setCode', permit2, permit2Code())

  const done = async (hash: Hex) => {
    await evm.mine()
    const { status, contractAddress } = await reader.getTransactionReceipt({ hash })
    return { status, contractAddress, hash }
  }
  const deploy = async (name: string, ...args: unknown[]) => {
    const { abi = [], bytecode = '0x' } = contracts[name] ?? {}
    const hash = await operator.deployContract({ abi, bytecode, args })
    return getAddress((await done(hash)).contractAddress ?? '')
  }
  const call = async (
    wallet: typeof operator,
    name: string,
    address: string,
    functionName: string,
    args: unknown[],
  ) => {
    const abi = contracts[name]?.abi ?? []
    return done(await wallet.writeContract({ abi, address: address as Hex, functionName, args, gas: 1_000_000n }))
  }
  const read = (name: string, address: string, functionName: string, args: unknown[]) =>
    reader.readContract({ abi: contracts[name]?.abi ?? [], address: address as Hex, functionName, args })

  const given = await deploy('Token', decimals.given)
  const taken = await deploy('Token', decimals.taken)
  const spender = await deploy('Settlement', permit2)
  return {
    given,
    taken,
    spender,
    deploy,
    /** The code that deploys a contract, with its arguments. */
    initCode: (name: string, ...args: unknown[]): Hex => {
      const { abi = [], bytecode = '0x' } = contracts[name] ?? {}
      return encodeDeployData({ abi, bytecode, args })
    },
    call,
    balanceOf: async (token: string, owner: string) =>
      BigInt((await read('Token', token, 'balanceOf', [owner])) as bigint),
    /** The hash of a transaction that was reverted. */
    revertedTransaction: async (): Promise<Hex> => {
      const nobody = operator.account.address
      const { status, hash } = await call(operator, 'Token', given, 'transferFrom', [spender, nobody, 2n ** 255n])
      if (status !== 'reverted') throw new Error('the transaction was not reverted')
      return hash
    },
    /** `settled`, or the error of the contract. */
    async settle(data: TypedData, owner: string, signature: string, by: Hex = spender): Promise<string> {
      return (await this.settleWith(data, owner, signature, by)).result
    },
    async settleWith({ message }: TypedData, owner: string, signature: string, by: Hex = spender) {
      const { permitted, nonce, deadline, witness } = message
      const permit = {
        permitted: { ...permitted, amount: BigInt(permitted.amount) },
        nonce: BigInt(nonce),
        deadline: BigInt(deadline),
      }
      const taker = { ...witness, fee: BigInt(witness.fee) }
      const args = [permit, owner, taker, signature]
      const abi = contracts.Settlement?.abi ?? []
      try {
        const requested = {
          abi,
          address: by,
          functionName: 'settle',
          args,
          account: operator.account,
          gas: 1_000_000n,
        }
        await reader.simulateContract(requested as never)
      } catch (error) {
        const refusal = refusals.find((signature) => String(error).includes(toFunctionSelector(signature)))
        return { result: refusal ?? String(error), transaction: noTransaction }
      }
      const { status, hash } = await call(operator, 'Settlement', by, 'settle', args)
      return { result: status === 'success' ? 'settled' : status, transaction: hash }
    },
  }
}
