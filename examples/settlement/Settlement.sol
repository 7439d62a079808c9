// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Settles trades of a Tetrad server with Permit2. Only the operator's addresses can settle, so a signature that is older
// than `expiresAt` of its quote is settled only if the operator does it. An example that nobody has audited: read README.md.

interface IERC20 {
  function transfer(address to, uint256 amount) external returns (bool);
  function transferFrom(address from, address to, uint256 amount) external returns (bool);
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

  error NotOperator();
  error WrongToken();
  error WrongAmount();
  error TransferFailed();

  event Settled(bytes32 indexed quoteId, address indexed owner, address indexed recipient);

  // The types that the taker has signed, exactly as in the typed data of the quote.
  string private constant CONSIDERATION =
    "Consideration(bytes32 quoteId,address base,address quote,uint256 baseAmount,uint256 quoteAmount,uint256 maturity)";
  string private constant TAKER = "TakerDetails(Consideration consideration,address recipient,uint256 fee)";
  string private constant WITNESS = string.concat(
    "TakerDetails witness)", CONSIDERATION, TAKER, "TokenPermissions(address token,uint256 amount)"
  );

  IPermit2 public immutable permit2;
  address public immutable treasury;
  mapping(address => bool) public isOperator;

  // `treasury_` receives what takers pay, and what is withdrawn. It pays nothing itself: this contract must have the tokens
  // that takers receive.
  constructor(IPermit2 permit2_, address treasury_, address[] memory operators) {
    permit2 = permit2_;
    treasury = treasury_;
    for (uint256 at = 0; at < operators.length; at++) isOperator[operators[at]] = true;
  }

  modifier onlyOperator() {
    if (!isOperator[msg.sender]) revert NotOperator();
    _;
  }

  // Takes the whole `quoteAmount` from `owner`, and pays `baseAmount` less the fee to the recipient, or does nothing.
  // If the permit is only for a collateral, the rest is taken with the allowance that `owner` has given to this contract.
  function settle(
    IPermit2.PermitTransferFrom calldata permit, address owner, TakerDetails calldata taker, bytes calldata signature
  ) external onlyOperator {
    Consideration calldata c = taker.consideration;
    uint256 permitted = permit.permitted.amount;
    if (permit.permitted.token != c.quote) revert WrongToken();
    if (permitted > c.quoteAmount || taker.fee > c.baseAmount) revert WrongAmount();
    permit2.permitWitnessTransferFrom(
      permit, IPermit2.SignatureTransferDetails(treasury, permitted), owner, witnessOf(taker), WITNESS, signature
    );
    if (permitted < c.quoteAmount)
      check(c.quote, abi.encodeCall(IERC20.transferFrom, (owner, treasury, c.quoteAmount - permitted)));
    check(c.base, abi.encodeCall(IERC20.transfer, (taker.recipient, c.baseAmount - taker.fee)));
    emit Settled(c.quoteId, owner, taker.recipient);
  }

  // Returns unused tokens to the treasury.
  function withdraw(address token, uint256 amount) external onlyOperator {
    check(token, abi.encodeCall(IERC20.transfer, (treasury, amount)));
  }

  function witnessOf(TakerDetails calldata taker) private pure returns (bytes32) {
    Consideration calldata c = taker.consideration;
    bytes32 inner = keccak256(abi.encode(
      keccak256(bytes(CONSIDERATION)), c.quoteId, c.base, c.quote, c.baseAmount, c.quoteAmount, c.maturity
    ));
    bytes32 takerType = keccak256(bytes(string.concat(TAKER, CONSIDERATION)));
    return keccak256(abi.encode(takerType, inner, taker.recipient, taker.fee));
  }

  // Some tokens return false or nothing.
  function check(address token, bytes memory call) private {
    (bool ok, bytes memory result) = token.call(call);
    if (!ok || token.code.length == 0 || (result.length > 0 && !abi.decode(result, (bool)))) revert TransferFailed();
  }
}
