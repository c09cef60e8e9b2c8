// Package decode turns captured frames into packets: link layers, tunnels, IP,
// RoCEv1, RoCEv2 and native InfiniBand with every extended header, MAC control
// (PFC and PAUSE), and the ICRC.
//
// A Decoder keeps no state between packets and allocates nothing. Decode
// fills a flat Packet that the caller owns; VerifyICRC then checks the
// invariant CRC where that is wanted. Lengths come from the IP or GRH header
// and never from the end of the captured frame, so padding, frame check
// sequences and time-stamp trailers do no harm. A frame that was cut by the
// capture is decoded as far as it goes, which is not an error; a frame whose
// headers contradict one another is Malformed, and Packet.Err says where.
package decode
